import { writeFileSync } from "node:fs";

// Imported ahead of a program whose peak is wanted: writes it, in bytes, to the file that the environment names.
process.on("exit", () => {
	const file = process.env.BENCH_PEAK_FILE;
	if (file !== undefined) writeFileSync(file, String(process.resourceUsage().maxRSS * 1024));
});
