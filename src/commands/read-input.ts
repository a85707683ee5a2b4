import { PalimpsestError } from "../errors.ts";
import { readRegularFile } from "../files/read-file.ts";

/**
 * Reads a file, or standard input where the name is `-`.
 *
 * @throws PalimpsestError `unreadable_file`; `payload_too_large` past `maxBytes`.
 */
export function readInput(file: string, maxBytes: number): Promise<Buffer> {
	return file === "-" ? readStandardInput(maxBytes) : readRegularFile(file, maxBytes);
}

/** The text of an output, whatever its bytes are: those that are no UTF-8 become U+FFFD. */
export function textOf(bytes: Buffer): string {
	return bytes.toString("utf8");
}

async function readStandardInput(maxBytes: number): Promise<Buffer> {
	const chunks: Buffer[] = [];
	let length = 0;
	for await (const chunk of process.stdin) {
		length += chunk.length;
		if (length > maxBytes) {
			throw new PalimpsestError(
				"payload_too_large",
				`Standard input has over ${maxBytes} bytes, which is all that limits.max_file_bytes in the policy allows.`,
			);
		}
		chunks.push(chunk);
	}
	return Buffer.concat(chunks);
}
