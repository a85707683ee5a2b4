import type { Archive } from "../archive/archive.ts";
import type { Archiving } from "../engine/archiving.ts";
import { valueAt } from "../engine/path.ts";
import { compactJson } from "../engine/stringify.ts";

/** How the engine names originals of a document that go into an archive; `undefined` without one. */
export function archivingOf(archive: Archive | undefined, document: unknown): Archiving | undefined {
	if (!archive) return undefined;
	return { refOf: archive.refOf, jsonAt: (path) => compactJson(valueAt(document, path)) };
}
