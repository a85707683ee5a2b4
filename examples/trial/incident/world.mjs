import { mkdirSync, writeFileSync } from "node:fs";
import { startRandom } from "../random.mjs";

const services = "basket billing catalogue customs fraud invoice labels packing pricing shipping stock".split(" ");
const reasons = ["no connection left in the pool", "the answer took over 5000 ms", "the certificate has expired"];
const [orders, failures] = [240, 8];

const { below, pick, shuffled } = startRandom(20261128);
const lines = Object.fromEntries(["gateway", ...services].map((name) => [name, []]));

/** By order that failed, the services that it passed. */
export const failed = {};

for (let index = 0; index < orders; index += 1) {
	const order = String(40_000 + index * 37 + below(37));
	const isFailing = index % (orders / failures) === 20;
	const path = ["gateway", ...shuffled(services).slice(0, 3 + below(4))];
	if (isFailing) failed[order] = path;
	let time = 7_200_000 + index * 21_000 + below(9_000);
	let request = newRequest();
	for (const [place, service] of path.entries()) {
		const waited = 3 + below(240);
		time += waited + 20 + below(400);
		const next = path[place + 1];
		const sent = newRequest();
		const hasFailed = isFailing && next === undefined;
		const end = next
			? `then sent to ${next} as req=${sent}`
			: hasFailed
				? `then failed: ${pick(reasons)}`
				: "then answered";
		const named = service === "gateway" ? `order=${order} ` : "";
		const level = hasFailed ? "ERROR" : "INFO ";
		lines[service].push(`${clock(time)} ${level} ${named}req=${request} waited ${waited} ms in the queue, ${end}`);
		// A service that tries again: no failure of an order.
		if (next && below(30) === 0) {
			lines[service].push(`${clock(time - 1)} ERROR req=${request} attempt failed: ${pick(reasons)}; tried again`);
		}
		request = sent;
	}
}

export function writeTree() {
	mkdirSync("logs");
	for (const [name, written] of Object.entries(lines))
		writeFileSync(`logs/${name}.log`, `${written.sort().join("\n")}\n`);
}

function clock(time) {
	return new Date(time).toISOString().slice(11, 23);
}

function newRequest() {
	return (0x100000 + below(0xefffff)).toString(16);
}
