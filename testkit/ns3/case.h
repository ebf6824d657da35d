// A case as case_file.py writes it, and the reader of that format.

#pragma once

#include "ns3/core-module.h"

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

struct Link
{
    uint32_t a;
    uint32_t b;
    uint64_t rate;
    int64_t delay;
};

struct Loss
{
    int64_t start;
    uint32_t a;
    uint32_t b;
    double probability;
};

struct Flow
{
    int64_t start;
    uint64_t bytes;
    std::vector<uint32_t> path; // nodes, both hosts included
    std::vector<uint32_t> back; // of its acknowledgements, from the receiver on
    int64_t connected = -1;
    int64_t finished = -1;
    uint64_t received = 0;
    uint64_t segments = 0; // data segments sent, retransmissions included
};

struct Case
{
    std::map<std::string, std::string> settings;
    uint32_t hosts = 0;    // nodes 0 .. hosts-1
    uint32_t switches = 0; // the nodes after them
    std::vector<Link> links;
    std::vector<Loss> losses;
    std::vector<Flow> flows;

    std::string Text(const std::string& key) const
    {
        auto it = settings.find(key);
        NS_ABORT_MSG_IF(it == settings.end(), "the case does not set " << key);
        return it->second;
    }

    int64_t Number(const std::string& key) const
    {
        return std::stoll(Text(key));
    }

    bool Flag(const std::string& key) const
    {
        return Number(key) != 0;
    }
};

inline std::vector<uint32_t>
ReadNodes(std::istringstream& words)
{
    std::vector<uint32_t> nodes;
    uint32_t node;
    while (words >> node)
    {
        nodes.push_back(node);
    }
    NS_ABORT_MSG_IF(nodes.size() < 2, "a flow without a path");
    return nodes;
}

inline Case
ReadCase(const char* name)
{
    std::ifstream file(name);
    NS_ABORT_MSG_IF(!file, "cannot read " << name);
    Case c;
    std::string line;
    while (std::getline(file, line))
    {
        std::istringstream words(line);
        std::string kind;
        words >> kind;
        if (kind == "set")
        {
            std::string key;
            std::string value;
            words >> key >> value;
            c.settings[key] = value;
        }
        else if (kind == "nodes")
        {
            words >> c.hosts >> c.switches;
        }
        else if (kind == "link")
        {
            Link l;
            words >> l.a >> l.b >> l.rate >> l.delay;
            c.links.push_back(l);
        }
        else if (kind == "loss")
        {
            Loss l;
            words >> l.start >> l.a >> l.b >> l.probability;
            c.losses.push_back(l);
        }
        else if (kind == "flow")
        {
            Flow f;
            words >> f.start >> f.bytes;
            f.path = ReadNodes(words);
            f.back.assign(f.path.rbegin(), f.path.rend());
            c.flows.push_back(f);
        }
        else if (kind == "back")
        {
            NS_ABORT_MSG_IF(c.flows.empty(), "a way back before the first flow");
            c.flows.back().back = ReadNodes(words);
        }
    }
    return c;
}
