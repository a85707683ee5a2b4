import type { runLargeText as RunLargeText } from "./large-text-job.ts";

// As in the module of the server's threads: Node.js 20 aborts the process if a thread ends while `require` loads an ES module.
const loading = import("./large-text-job.ts");

/** Cuts or counts a text in a thread. */
export const runLargeText: typeof RunLargeText = async (job) => (await loading).runLargeText(job);
