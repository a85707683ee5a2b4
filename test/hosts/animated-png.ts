import { crc32, deflateSync, inflateSync } from "node:zlib";

export interface Frame {
	/** A PNG of the same size and kind as the others. */
	readonly png: Buffer;
	/** For how long it is shown. */
	readonly milliseconds: number;
}

const signatureBytes = 8;

/** Joins pictures to an animated PNG that plays again and again. Equal neighbours become one frame. */
export function joinFrames(frames: readonly Frame[]): Buffer {
	const shown: Frame[] = [];
	for (const frame of frames) {
		const last = shown.at(-1);
		if (last?.png.equals(frame.png)) {
			shown[shown.length - 1] = { ...last, milliseconds: last.milliseconds + frame.milliseconds };
		} else shown.push(frame);
	}
	const [first] = shown;
	if (!first) throw new Error("Expected at least one frame.");
	const header = chunksOf(first.png).find(({ type }) => type === "IHDR");
	if (!header) throw new Error("Expected a PNG.");
	const parts = [
		first.png.subarray(0, signatureBytes),
		chunk("IHDR", header.data),
		chunk("acTL", words(shown.length, 0)),
	];
	let sequence = 0;
	for (const [index, { png, milliseconds }] of shown.entries()) {
		const chunks = chunksOf(png);
		if (!chunks.some(({ type, data }) => type === "IHDR" && data.equals(header.data))) {
			throw new Error("Expected frames of one size.");
		}
		const [width, height] = [header.data.readUInt32BE(0), header.data.readUInt32BE(4)];
		const delay = Buffer.alloc(6);
		delay.writeUInt16BE(milliseconds, 0);
		delay.writeUInt16BE(1_000, 2);
		parts.push(chunk("fcTL", Buffer.concat([words(sequence++, width, height, 0, 0), delay])));
		const pixels = chunks.filter(({ type }) => type === "IDAT").map(({ data }) => data);
		// A browser compresses quickly, not well.
		const data = deflateSync(inflateSync(Buffer.concat(pixels)), { level: 9 });
		parts.push(index === 0 ? chunk("IDAT", data) : chunk("fdAT", Buffer.concat([words(sequence++), data])));
	}
	return Buffer.concat([...parts, chunk("IEND", Buffer.alloc(0))]);
}

function chunksOf(png: Buffer): { readonly type: string; readonly data: Buffer }[] {
	const chunks: { type: string; data: Buffer }[] = [];
	for (let at = signatureBytes; at < png.byteLength; ) {
		const length = png.readUInt32BE(at);
		chunks.push({ type: png.toString("latin1", at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) });
		at += 12 + length;
	}
	return chunks;
}

function chunk(type: string, data: Buffer): Buffer {
	const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
	return Buffer.concat([words(data.byteLength), body, words(crc32(body))]);
}

function words(...values: readonly number[]): Buffer {
	const bytes = Buffer.alloc(4 * values.length);
	for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * index);
	return bytes;
}
