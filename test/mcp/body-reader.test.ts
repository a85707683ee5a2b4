import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createBodyReader } from "../../src/mcp/transports/http/create-body-reader.ts";

/** A request whose body is written piece by piece. */
function request() {
	const stream = new PassThrough();
	return { stream, incoming: Object.assign(stream, { headers: {} }) as never };
}

test("bodies that come at the same time have a limit together, and make room when they are read, refused or left", async () => {
	const reader = createBodyReader({ bytesOfOne: 100, bytesOfAll: 150 });
	const [whole, left, over] = [request(), request(), request()];
	const reading = [whole, left, over].map(({ incoming }) => reader.read(incoming));
	const outcomes = Promise.allSettled(reading);
	whole.stream.write(`"${"x".repeat(60)}`);
	left.stream.write(" ".repeat(60));
	await nextTurn();
	over.stream.write(" ".repeat(60));
	await nextTurn();
	await expect(reading[2]).rejects.toMatchObject({ code: "rate_limit" });
	// What was refused holds nothing: 30 more bytes still fit beside the two.
	whole.stream.write("x".repeat(29));
	await nextTurn();
	left.stream.destroy();
	await nextTurn();
	const next = request();
	const later = reader.read(next.incoming);
	next.stream.end(`"${"y".repeat(50)}"`);
	expect(await later).toBe("y".repeat(50));
	whole.stream.end('"');
	const [first, second] = await outcomes;
	expect(first).toEqual({ status: "fulfilled", value: "x".repeat(89) });
	expect(second).toMatchObject({ status: "rejected", reason: { message: "The client went away." } });

	for (let turn = 0; turn < 50; turn += 1) {
		const one = request();
		const read = reader.read(one.incoming);
		one.stream.end(`"${"z".repeat(90)}"`);
		expect(await read).toHaveLength(90);
	}
});

test("a body that was read is held no longer, though its request is", async () => {
	setFlagsFromString("--expose_gc");
	const collectGarbage: () => void = runInNewContext("gc");
	const reader = createBodyReader({ bytesOfOne: 1_000, bytesOfAll: 1_000 });
	const requests = Array.from({ length: 20 }, request);
	const pieces: WeakRef<Buffer>[] = [];
	for (const { stream, incoming } of requests) {
		const read = reader.read(incoming);
		for (const text of ['"', "x", '"']) {
			const piece = Buffer.from(text);
			pieces.push(new WeakRef(piece));
			stream.write(piece);
		}
		stream.end();
		expect(await read).toBe("x");
	}
	await nextTurn();
	collectGarbage();
	expect(pieces).toHaveLength(60);
	// The last one may stand in a register still.
	expect(pieces.filter((piece) => piece.deref() !== undefined).length).toBeLessThanOrEqual(2);
	expect(requests.every(({ stream }) => stream.writableEnded)).toBe(true);
});
