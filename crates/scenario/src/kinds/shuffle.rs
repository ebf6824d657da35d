//! TeraSort on Hadoop: the jobs of [`shuffle`]. Its tasks are in the table that every driver writes.

use super::kind::{Cast, Kind, Place};
use shuffle::Job;
use units::Problem;

impl Kind for Job<String> {
    fn name(&self) -> &'static str {
        "shuffle"
    }

    fn cast(&self, place: &mut Place<'_>) -> Result<Cast, Problem> {
        let job = self.place(place.names)?;
        let volumes = job.volumes();
        let processes = shuffle::build(job, place.graph.hosts(), &mut place.draws, place.port)?;
        place.check_volumes(volumes)?;
        Ok(Cast::silent(processes))
    }
}
