/** A buffer that can shrink: ES2024, which Node has since 20. */
interface ShrinkableBuffer extends ArrayBuffer {
	resize(length: number): void;
}
type ShrinkableConstructor = new (length: number, options: { readonly maxByteLength: number }) => ShrinkableBuffer;

/** Bytes whose memory can be given back at once, since a collector may leave them for longer than a large file can wait. */
export function releasableBytes(length: number): Buffer<ArrayBuffer> {
	const Shrinkable = ArrayBuffer as unknown as ShrinkableConstructor;
	return Buffer.from(new Shrinkable(length, { maxByteLength: length }));
}

/** Gives the memory of such bytes back, after which they are empty; does nothing to any other bytes. */
export function releaseBytes({ buffer }: Uint8Array): void {
	if ("resizable" in buffer && buffer.resizable === true) (buffer as unknown as ShrinkableBuffer).resize(0);
}
