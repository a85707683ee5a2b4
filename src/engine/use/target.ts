/** Lines of a file, from 1, both ends included. */
export interface LineRange {
	readonly from: number;
	/** `Infinity` where it goes to the end of the file, wherever that is. */
	readonly to: number;
}

/** A file that a call shows: all of it, the lines of a range, or a part that the arguments do not tell. */
export interface FileRead {
	readonly path: string;
	readonly lines: LineRange | "whole" | "part";
}

/** What a call is about. */
export type TargetKind = "read" | "write" | "list" | "search" | "run" | "other";

/** What a call reads, writes, lists, searches or runs, as far as its arguments tell. */
export interface CallTarget {
	/** What its result shows; of a script that does several things, the one whose output weighs most. */
	readonly kind: TargetKind;
	/** The files or folders that it is about, each once, as `normalisePath` spells them. */
	readonly paths: readonly string[];
	/** Lines read, where the call reads one range of one file. */
	readonly range?: LineRange;
	/** The files that its result shows. */
	readonly reads: readonly FileRead[];
	/** The files that it writes, moves or removes. */
	readonly writes: readonly string[];
	/** The folder in which it runs, where its arguments say so. Relative paths are already joined to it. */
	readonly folder?: string;
	/** What it does to the file that an earlier call opened, in tools that keep one open (SWE-agent's `edit 10:20`). */
	readonly openFile?: "read" | "write";
	/** The command of a `run`: its program and subcommand, such as `npm test`, for recognising another try. */
	readonly program?: string;
}

/** The target of a call that tells nothing. */
export const otherTarget: CallTarget = { kind: "other", paths: [], reads: [], writes: [] };
