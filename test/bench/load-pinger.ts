import { setTimeout as pause } from "node:timers/promises";
import { messageOf, openLoadClient } from "./load-client.ts";

// Pings a server again and again from a process of its own, and tells how long each took when it is asked.
const client = await openLoadClient(process.argv[2] ?? "");
const ping = messageOf("ping", {});
let times: number[] = [];
process.on("message", () => {
	process.send?.(times);
	times = [];
});
process.on("disconnect", () => process.exit(0));
for (;;) {
	const began = performance.now();
	await client.post(ping);
	times.push(performance.now() - began);
	await pause(5);
}
