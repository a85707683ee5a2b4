import type { runJob as RunJob } from "./job.ts";

// Piscina loads the module of a thread by `require`, and Node.js 20 aborts the whole process if a thread ends while `require`
// loads an ES module. This one is loaded in no time, and imports the rest.
const loading = import("./job.ts");

/** Runs a job in a thread of the pool. */
export const runJob: typeof RunJob = async (job) => (await loading).runJob(job);
