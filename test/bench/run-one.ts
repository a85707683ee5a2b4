import { benches } from "./benches.ts";

// Runs one benchmark and prints its section as JSON: each has a process of its own.
const [, , name = ""] = process.argv;
const bench = benches.find((each) => each.name === name);
if (bench === undefined) throw new Error(`Unknown benchmark: ${name}`);
process.stdout.write(JSON.stringify(await bench.run()));
