import { PalimpsestError } from "../../errors.ts";
import { locateValues, pathTree } from "./locate.ts";

/** The records of a damaged session: each on a line of its own, with its spelling. */
interface SalvagedText {
	readonly text: string;
	/** How many damaged pieces were left out. */
	readonly skipped: number;
}

/**
 * Takes the whole records out of damaged JSON Lines: programs that are killed leave cut lines, half records in front of whole
 * ones and blocks of NULs. `undefined` for any other text, and where more lines are damaged than whole.
 */
export function salvageRecords(text: string): SalvagedText | undefined {
	const records: string[] = [];
	const starts = new Set<string>();
	let [skipped, damagedLines, wholeLines] = [0, 0, 0];
	for (const line of text.replace(/^\uFEFF/, "").split("\n")) {
		const { bare, hadNulls } = withoutNulls(line);
		if (bare === "" && !hadNulls) continue;
		const isWhole = isRecord(bare);
		const found = isWhole ? { records: [bare], skipped: 0 } : recordsIn(bare, starts);
		if (isWhole && starts.size < mostStarts) starts.add(bare.slice(0, startLength));
		records.push(...found.records);
		const lost = found.skipped + (hadNulls ? 1 : 0);
		skipped += lost;
		if (found.skipped === 0 && bare !== "") wholeLines += 1;
		else if (bare !== "") damagedLines += 1;
	}
	if (skipped === 0 || wholeLines <= damagedLines) return undefined;
	return { text: `${records.join("\n")}\n`, skipped };
}

/** Names the command that can read a damaged session, in the error about its text. */
export function namingRescue(error: unknown, text: string): unknown {
	const isFaulty = error instanceof PalimpsestError && error.code === "invalid_json";
	if (!isFaulty || !salvageRecords(text)) return error;
	const message = `${error.message} Some records of this session are damaged; palimpsest rescue skips them.`;
	return new PalimpsestError("invalid_json", message, { cause: error });
}

/** Records of a session begin alike. */
const startLength = 8;
const mostStarts = 40;

/** How many times the length of a line is searched at most: each try may reach its end. */
const mostWork = 8;

function withoutNulls(line: string): { readonly bare: string; readonly hadNulls: boolean } {
	const bare = line.replace(/^[\0\s]+|[\0\s]+$/g, "");
	return { bare, hadNulls: line.includes("\0") };
}

function isRecord(text: string): boolean {
	if (!text.startsWith("{")) return false;
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}

/** The whole records in a line, and the pieces between them that are none. */
function recordsIn(line: string, starts: ReadonlySet<string>): { records: readonly string[]; skipped: number } {
	const records: string[] = [];
	let skipped = 0;
	let isDamaged = false;
	let work = 0;
	for (let offset = 0; offset < line.length && work <= mostWork * line.length; ) {
		const record = recordAt(line, offset);
		if (record !== undefined) {
			records.push(record);
			offset += record.length;
			work += record.length;
			isDamaged = false;
			while (/[\s\0]/.test(line[offset] ?? "")) offset += 1;
			continue;
		}
		if (!isDamaged) skipped += 1;
		isDamaged = true;
		work += line.length - offset;
		offset = nextStart(line, offset + 1, starts);
	}
	return { records, skipped };
}

function recordAt(line: string, offset: number): string | undefined {
	if (line[offset] !== "{") return undefined;
	try {
		const { end } = locateValues(line, offset, pathTree([]));
		const record = line.slice(offset, end);
		return isRecord(record) ? record : undefined;
	} catch {
		return undefined;
	}
}

/** Where the next piece begins as other records do. */
function nextStart(line: string, from: number, starts: ReadonlySet<string>): number {
	const places = Array.from(starts, (start) => line.indexOf(start, from)).filter((place) => place !== -1);
	return places.length === 0 ? line.length : Math.min(...places);
}
