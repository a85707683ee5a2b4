/** Writes to standard output and waits while its reader is slower, so that nothing piles up in memory. */
export async function writeOut(piece: string | Uint8Array): Promise<void> {
	if (process.stdout.write(piece)) return;
	await new Promise<void>((resolve) => process.stdout.once("drain", resolve));
}
