import { PalimpsestError } from "../../errors.ts";
import { writeNewFile } from "../../files/write-new-file.ts";

/**
 * Writes a page where the caller wants it, over what was there.
 *
 * @throws PalimpsestError `unwritable_file`.
 */
export async function writePage(file: string, text: string): Promise<void> {
	try {
		await writeNewFile({ file, text, overwrite: true });
	} catch (cause) {
		const { code, message } = cause as NodeJS.ErrnoException;
		throw new PalimpsestError("unwritable_file", `Cannot write ${file}: ${code ?? message}.`, { cause });
	}
}
