import { createScanner, type Node } from "jsonc-parser";

/** As jsonc-parser names it; its enumeration is none that can be imported. */
const commaToken = 5;

/**
 * A JSON text (comments allowed) without a value, and without the key that it stands at: with them go the white space
 * before them and the comma that they leave over. Every other character stays as it is, comments too.
 */
export function withoutNode(text: string, node: Node): string {
	const member = node.parent?.type === "property" ? node.parent : node;
	const [from, to] = [member.offset, member.offset + member.length];
	const start = text.slice(0, from).trimEnd().length;
	const joined = (rest: number, before = text.slice(0, start)) => before + behind(text, { start, from, rest });
	const comma = commaIn(text, to, (member.parent as Node).offset + (member.parent as Node).length);
	if (comma !== undefined) return joined(comma + 1);
	const siblings = member.parent?.children ?? [];
	const before = siblings[siblings.indexOf(member) - 1];
	const lone = before && commaIn(text, before.offset + before.length, from);
	return lone === undefined ? joined(to) : joined(to, text.slice(0, lone) + text.slice(lone + 1, start));
}

/** What follows a member that goes. Another on its line keeps a line of its own: it may follow a comment now. */
function behind(text: string, { start, from, rest }: { start: number; from: number; rest: number }): string {
	const left = text.slice(rest);
	const blank = text.slice(start, from);
	return blank.includes("\n") && /^[ \t]*(?!\/\/)\S/.test(left) ? blank + left.trimStart() : left;
}

/** Where the next token is a comma: its place. */
function commaIn(text: string, from: number, to: number): number | undefined {
	const scanner = createScanner(text.slice(from, to), true);
	return (scanner.scan() as number) === commaToken ? from + scanner.getTokenOffset() : undefined;
}
