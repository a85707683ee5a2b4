import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createBodyReader } from "../../src/mcp/body.ts";

setFlagsFromString("--expose_gc");
const collectGarbage: () => void = runInNewContext("gc");

/** A request whose body is written piece by piece. */
function request() {
	const stream = new PassThrough();
	return { stream, incoming: Object.assign(stream, { headers: {} }) as never };
}

test("concurrent bodies share a limit, and free it when they are read, refused or aborted", async () => {
	const reader = createBodyReader({ bytesOfOne: 10_000, bytesOfAll: 15_000 });
	const [whole, left, over] = [request(), request(), request()];
	const reading = [whole, left, over].map(({ incoming }) => reader.read(incoming));
	const outcomes = Promise.allSettled(reading);
	whole.stream.write(`"${"x".repeat(6_000)}`);
	left.stream.write(" ".repeat(6_000));
	await nextTurn();
	over.stream.write(" ".repeat(6_100));
	await nextTurn();
	await expect(reading[2]).rejects.toMatchObject({ code: "rate_limit" });
	// What was refused holds nothing: 2 900 more bytes still fit beside the two.
	whole.stream.write("x".repeat(2_900));
	await nextTurn();
	left.stream.destroy();
	await nextTurn();
	const next = request();
	const later = reader.read(next.incoming);
	next.stream.end(`"${"y".repeat(5_000)}"`);
	expect(await later).toBe("y".repeat(5_000));
	whole.stream.end('"');
	const [first, second] = await outcomes;
	expect(first).toEqual({ status: "fulfilled", value: "x".repeat(8_900) });
	expect(second).toMatchObject({ status: "rejected", reason: { code: "ERR_STREAM_PREMATURE_CLOSE" } });

	for (let turn = 0; turn < 50; turn += 1) {
		const one = request();
		const read = reader.read(one.incoming);
		one.stream.end(`"${"z".repeat(9_000)}"`);
		expect(await read).toHaveLength(9_000);
	}
});

test("releases a body once it was read, even while its request is held", async () => {
	const reader = createBodyReader({ bytesOfOne: 10_000, bytesOfAll: 10_000 });
	const requests = Array.from({ length: 20 }, request);
	const pieces: WeakRef<Buffer>[] = [];
	for (const { stream, incoming } of requests) {
		const read = reader.read(incoming);
		for (const text of [`"${"x".repeat(1_000)}`, "x".repeat(1_000), '"']) {
			const piece = Buffer.from(text);
			pieces.push(new WeakRef(piece));
			stream.write(piece);
		}
		stream.end();
		expect(await read).toBe("x".repeat(2_000));
	}
	await nextTurn();
	collectGarbage();
	expect(pieces).toHaveLength(60);
	// The last one may stand in a register still.
	expect(pieces.filter((piece) => piece.deref() !== undefined).length).toBeLessThanOrEqual(2);
	expect(requests.every(({ stream }) => stream.writableEnded)).toBe(true);
});

/** What this process holds, after a garbage collection. */
function memory(): number {
	// The first one finds buffers, the second one has freed them.
	collectGarbage();
	collectGarbage();
	const { heapUsed, external } = process.memoryUsage();
	return heapUsed + external;
}

/** Sends one chunk after another, with pauses in which they arrive. */
async function sendChunks(stream: PassThrough, { count, bytes }: { readonly count: number; readonly bytes: number }) {
	for (let sent = 0; sent < count; sent += 1) {
		stream.write(Buffer.alloc(bytes, " "));
		if (sent % 500 === 0) await nextTurn();
	}
	await nextTurn();
}

test.each([
	{ count: 60_000, bytes: 1 },
	{ count: 10_000, bytes: 20 },
	{ count: 200, bytes: 1_000 },
])("a body in $count chunks of $bytes bytes takes little more memory than its bytes", async ({ count, bytes }) => {
	const reader = createBodyReader({ bytesOfOne: 1_000_000, bytesOfAll: 1_000_000 });
	const { stream, incoming } = request();
	const read = reader.read(incoming);
	const before = memory();
	await sendChunks(stream, { count, bytes });
	expect(memory() - before).toBeLessThan(2 * count * bytes + 200_000);
	stream.end('"x"');
	expect(await read).toBe("x");
});

test.each([
	{ bytes: 1, count: 70_000, isRefused: true },
	{ bytes: 15, count: 5_000, isRefused: true },
	{ bytes: 15, count: 4_000, isRefused: false },
	{ bytes: 17, count: 9_000, isRefused: false },
])("a body in $count pieces of $bytes bytes is refused: $isRefused", async ({ bytes, count, isRefused }) => {
	const reader = createBodyReader({ bytesOfOne: 1_000_000, bytesOfAll: 1_000_000 });
	const { stream, incoming } = request();
	const outcome = reader.read(incoming).catch(({ code }) => code);
	await sendChunks(stream, { count, bytes });
	stream.end('"x"');
	expect(await outcome).toBe(isRefused ? "invalid_argument" : "x");
});

test("bodies that arrive slowly do not take the room of smaller ones", async () => {
	const reader = createBodyReader({ bytesOfOne: 10_000, bytesOfAll: 15_000 });
	const slow = [request(), request()];
	const refused = slow.map(({ incoming }) => reader.read(incoming).catch(({ code }) => code));
	for (const { stream } of slow) stream.write(" ".repeat(7_000));
	await nextTurn();
	const small = request();
	const read = reader.read(small.incoming);
	small.stream.end(`"${"x".repeat(2_000)}"`);
	expect(await read).toBe("x".repeat(2_000));
	expect(await refused[1]).toBe("rate_limit");
});

test("the limit of all bodies counts the memory that they use, with partly filled blocks", async () => {
	const bytesOfAll = 100_000;
	const reader = createBodyReader({ bytesOfOne: bytesOfAll, bytesOfAll });
	const requests = Array.from({ length: 300 }, request);
	const reads = requests.map(({ incoming }) => reader.read(incoming));
	const outcomes = Promise.allSettled(reads);
	for (const { stream } of requests) stream.write(" ");
	await nextTurn();
	for (const { stream } of requests) stream.end("1");
	const refused = (await outcomes).filter(({ status }) => status === "rejected");
	expect(refused.length).toBeGreaterThan(50);
	expect(refused.length).toBeLessThan(300);
});

test("chunks of any size arrive unchanged", async () => {
	for (let seed = 1; seed <= 20; seed += 1) {
		const reader = createBodyReader({ bytesOfOne: 1_000_000, bytesOfAll: 2_000_000 });
		const { stream, incoming } = request();
		const read = reader.read(incoming);
		let text = "";
		stream.write('"');
		for (let turn = 1; turn <= 60; turn += 1) {
			const piece = String(turn % 10).repeat((turn * seed * 7_919) % (turn % 3 === 0 ? 20_000 : 60));
			text += piece;
			stream.write(Buffer.from(piece));
			if (turn % 4 === 0) await nextTurn();
		}
		stream.end('"');
		expect(await read).toBe(text);
	}
});
