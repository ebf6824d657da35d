// The page of `incast view`: the view over HTTP, its state in the address.
import { start } from "./view.js";

const answer = async (what, said) => {
  let response;
  try {
    response = await fetch(`ask/${what}?${new URLSearchParams(said)}`);
  } catch {
    throw new Error("incast view does not answer: it has ended, or this machine is very busy.");
  }
  if (!response.ok) throw new Error(await response.text());
  return response;
};

const source = {
  json: async (what, said = {}) => (await answer(what, said)).json(),
  array: async (what, said = {}) => new Float32Array(await (await answer(what, said)).arrayBuffer()),
};

const address = {
  read: () => new URLSearchParams(location.hash.slice(1)),
  write: (state) => history.replaceState(null, "", `#${state}`),
  changed: (call) => addEventListener("hashchange", call),
};

globalThis.incastView = start(document.getElementById("view"), source, address);
