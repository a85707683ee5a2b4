import type { Path } from "./path.ts";

/** How the engine names originals that the shell will archive. Absent where nothing is archived. */
export interface Archiving {
	/** The reference of a text: the same for the same text, known before anything is stored. */
	readonly refOf: (text: string) => string;
	/** The JSON of the value at a path of the document. */
	readonly jsonAt: (path: Path) => string;
}
