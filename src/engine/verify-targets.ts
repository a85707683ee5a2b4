import type { Edit, Plan } from "./edit.ts";
import { jsonPointer, type Path, samePath } from "./path.ts";
import { takesMessageOut } from "./takes-message-out.ts";
import { type Message, repeatedPlaces, type ToolResult, type Transcript } from "./transcript.ts";
import type { Violation } from "./violation.ts";

/** Checks that a plan goes to tool results, reasoning blocks, whole messages and ties between records, and nothing else. */
export function verifyTargets(
	transcript: Transcript,
	plan: Plan,
	isLink: (path: Path) => boolean = () => false,
): Violation[] {
	const violations: Violation[] = [];
	const removesValues = plan.some((edit) => edit.kind === "remove");
	const isEditable = editablePlaces();
	for (let index = 0; index < plan.length; index += 1) {
		const edit = plan[index] as Edit;
		const message = transcript.messages[edit.message];
		if (edit.reason === "relink") {
			if (!removesValues || !isLink(edit.path)) violations.push(wrongTarget(edit, "is no tie to a dropped record"));
		} else if (edit.kind === "remove") {
			const isRemovable = takesMessageOut(edit)
				? message?.paths.some((path) => samePath(path, edit.path))
				: message?.thinking.some((block) => samePath(block.path, edit.path));
			if (!isRemovable) violations.push(wrongTarget(edit, "may not be removed"));
			else if (takesMessageOut(edit) && message?.role === "system") {
				violations.push({ promise: "system_messages_kept", detail: jsonPointer(edit.path) });
			}
		} else if (edit.kind === "replace" && edit.reason !== "summary") {
			// What is inserted, and where a summary is put, is checked with the summary.
			if (!message || !isEditable(message, edit.path)) violations.push(wrongTarget(edit, "is no tool result"));
		}
	}
	return violations;
}

function wrongTarget({ path }: Edit, problem: string): Violation {
	return { promise: "only_tool_results_edited", detail: `${jsonPointer(path)} ${problem}` };
}

/** How many results of a message, or texts of a result, are looked through one by one. */
const few = 8;

/** Tells whether a place in a message holds what tools answered. The edits of a message stand side by side in a plan. */
function editablePlaces(): (message: Message, path: Path) => boolean {
	let last: Message | undefined;
	let pointers: ReadonlySet<string> | undefined;
	return (message, path) => {
		if (message !== last) {
			last = message;
			pointers = hasFewPlaces(message) ? undefined : new Set(editable(message).map(jsonPointer));
		}
		if (pointers) return pointers.has(jsonPointer(path));
		for (const { texts, whole, copies, media } of message.results) {
			if (whole && samePath(whole.path, path)) return true;
			for (const node of texts) if (samePath(node.path, path)) return true;
			for (const node of copies) if (samePath(node.path, path)) return true;
			for (const node of media) if (samePath(node.path, path)) return true;
		}
		return false;
	};
}

function hasFewPlaces({ results }: Message): boolean {
	if (results.length > few) return false;
	for (const { texts, copies, media, repeats } of results) {
		if (repeats || texts.length + copies.length + media.length > few) return false;
	}
	return true;
}

/** The paths that hold what tools answered. */
function editable(message: Message): Path[] {
	return message.results.flatMap(editablePaths);
}

/** The paths of a result that may be edited: its own, and those of what is kept of it a second time. */
export function editablePaths(result: ToolResult): Path[] {
	const { texts, whole, copies, media } = result;
	const own = [...texts, ...media, ...(whole ? [whole] : [])].map(({ path }) => path);
	return [...own, ...copies.map(({ path }) => path), ...own.flatMap((path) => repeatedPlaces(result, path))];
}
