import { fileURLToPath } from "node:url";

// This file runs from test/bench/build/test/bench.
/** The project's root, without a slash at its end. */
export const projectFolder = fileURLToPath(new URL("../../../../..", import.meta.url)).replace(/[\\/]$/, "");

/** The folder of the benchmarks. */
export const benchFolder = `${projectFolder}/test/bench`;
