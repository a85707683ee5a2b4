import { setTimeout as pause } from "node:timers/promises";
import { messageOf, openLoadClient } from "./load-client.ts";

// Pings a server again and again from a process of its own, and tells how long each took when it is asked. With a path
// behind the address it gets that path instead.
const [, , url = "", path] = process.argv;
const client = path === undefined ? await openLoadClient(url) : undefined;
const ping = messageOf("ping", {});
let times: number[] = [];
process.on("message", () => {
	process.send?.(times);
	times = [];
});
process.on("disconnect", () => process.exit(0));
for (;;) {
	const began = performance.now();
	await (client ? client.post(ping) : fetch(`${url}${path}`).then((response) => response.text()));
	times.push(performance.now() - began);
	await pause(5);
}
