import { PassThrough, Readable } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createBodyHold, paceBody } from "../../../src/operations/http/body.ts";

type ArrivedBody = Awaited<ReturnType<ReturnType<typeof createBodyHold>["read"]>>;

function request(headers: Readonly<Record<string, string>> = {}) {
	const stream = new PassThrough();
	return { stream, incoming: Object.assign(stream, { headers }) as never };
}

async function streamed(arrived: ArrivedBody): Promise<string> {
	if (arrived.kind === "whole") throw new Error("Expected a body that ended early.");
	return textOf(arrived.stream());
}

test("a body that is too large streams on from its first byte", async () => {
	const { read } = createBodyHold({ bytesOfOne: 1_000, bytesOfAll: 10_000 });
	const { stream, incoming } = request();
	const reading = read(incoming);
	for (const piece of ["a".repeat(7), "b".repeat(900), "c".repeat(100), "d"]) stream.write(piece);
	const arrived = await reading;
	expect(arrived.kind).toBe("too_large");
	const text = streamed(arrived);
	stream.write("e".repeat(20_000));
	await nextTurn();
	stream.end("f");
	expect(await text).toBe(`${"a".repeat(7)}${"b".repeat(900)}${"c".repeat(100)}d${"e".repeat(20_000)}f`);
});

test("a body that says that it is too large is not held", async () => {
	const { read } = createBodyHold({ bytesOfOne: 1_000, bytesOfAll: 10_000 });
	const { stream, incoming } = request({ "content-length": "1001" });
	const arrived = await read(incoming);
	expect(arrived.kind).toBe("too_large");
	stream.end("x".repeat(1_001));
	expect(await streamed(arrived)).toBe("x".repeat(1_001));
});

test("past the limit of all bodies the largest one that still arrives streams on, and others stay", async () => {
	const { read } = createBodyHold({ bytesOfOne: 10_000, bytesOfAll: 15_000 });
	const [small, large, last] = [request(), request(), request()];
	const [ofSmall, ofLarge, ofLast] = [small, large, last].map(({ incoming }) => read(incoming));
	small.stream.write("s".repeat(3_000));
	large.stream.write("l".repeat(8_000));
	await nextTurn();
	last.stream.write("t".repeat(5_000));
	const arrived = await (ofLarge as Promise<ArrivedBody>);
	expect(arrived.kind).toBe("no_room");
	const text = streamed(arrived);
	large.stream.end("m");
	expect(await text).toBe(`${"l".repeat(8_000)}m`);
	for (const [{ stream }, of] of [
		[small, ofSmall],
		[last, ofLast],
	] as const) {
		stream.end();
		expect((await of)?.kind).toBe("whole");
	}
});

test("a body that is whole counts until it is released", async () => {
	const { read } = createBodyHold({ bytesOfOne: 10_000, bytesOfAll: 15_000 });
	const whole = request();
	whole.stream.end("w".repeat(9_000));
	const first = await read(whole.incoming);
	const kindOfNext = async () => {
		const next = request();
		next.stream.end("n".repeat(9_000));
		const arrived = await read(next.incoming);
		if (arrived.kind === "whole") arrived.release();
		else arrived.discard();
		return arrived.kind;
	};
	expect(await kindOfNext()).toBe("no_room");
	if (first.kind === "whole") first.release();
	expect(await kindOfNext()).toBe("whole");
});

test("no more of a body is read in a turn in which a thousand pieces have arrived", async () => {
	let reads = 0;
	const read = () => {
		reads += 1;
	};
	const incoming = new Readable({ read, highWaterMark: 1_000_000 });
	paceBody(incoming as never);
	incoming.resume();
	await nextTurn();
	const goesOn = Array.from({ length: 1_200 }, () => incoming.push("x"));
	expect(goesOn.indexOf(false)).toBe(999);
	const before = reads;
	await Promise.resolve();
	incoming.read(0);
	expect(reads).toBe(before);
	await nextTurn();
	expect(reads).toBeGreaterThan(before);
	expect(incoming.push("x")).toBe(true);
});

test("a body waits for memory until others release theirs, in turn and not for ever", async () => {
	const { read } = createBodyHold({ bytesOfOne: 1_000, bytesOfAll: 100_000, longestWaitMs: 60_000 });
	const arrive = async () => {
		const { stream, incoming } = request();
		const reading = read(incoming);
		stream.end("x");
		const arrived = await reading;
		if (arrived.kind !== "whole") throw new Error("Expected a whole body.");
		return arrived;
	};
	const [first, second, third] = [await arrive(), await arrive(), await arrive()];
	expect([first.hold.take(90_000), second.hold.take(50_000)]).toEqual([true, false]);
	const taken: string[] = [];
	const waiting = [
		second.hold.takeInTurn(50_000).then((isTaken) => taken.push(`second ${isTaken}`)),
		third.hold.takeInTurn(10).then((isTaken) => taken.push(`third ${isTaken}`)),
	];
	await nextTurn();
	expect(taken).toEqual([]);
	first.release();
	await Promise.all(waiting);
	expect(taken).toEqual(["second true", "third true"]);

	const impatient = createBodyHold({ bytesOfOne: 1_000, bytesOfAll: 1_000, longestWaitMs: 1 });
	const { stream, incoming } = request();
	const reading = impatient.read(incoming);
	stream.end("x");
	const arrived = await reading;
	expect(arrived.kind === "whole" && (await arrived.hold.takeInTurn(5_000))).toBe(false);
});
