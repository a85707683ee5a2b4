/** 200 lines of an event of Codex, as `zstd` 1.5 packs them, with a checksum. */
export const packed = Buffer.from(
	"KLUv/WT4KeUBAOQCeyJ0eXBlIjoiZXZlbnRfbXNnIiwicGF5bG9hZCI6dGFza19zdGFydGVkIn19CgMAtUorDvDUy1AoJ6slRkU=",
	"base64",
);

/** A frame whose one block is not compressed (RFC 8878, section 3.1.1), for less than 64 KiB. */
export function storedFrame(content: Buffer): Buffer {
	const header = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0]);
	header.writeUInt32LE(content.length, 5);
	const block = Buffer.alloc(3);
	block.writeUIntLE((content.length << 3) | 1, 0, 3);
	return Buffer.concat([header, block, content]);
}
