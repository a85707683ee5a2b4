import { type AnswerMember, jsonOfMembers } from "./answer-members.ts";

/** Largest member, in bytes of its JSON, that a summary still shows. */
const largestShown = 16_000;

/**
 * What a text block says in place of an answer that is too large to be repeated: how much there is and where, what
 * happened to the conversation, and then, as JSON, the members that are short, such as the report.
 */
export function summariseAnswer(what: { readonly members: readonly AnswerMember[]; readonly bytes: number }): string {
	const { members, bytes } = what;
	const isLarge = (member: AnswerMember) => member.bytes > largestShown;
	const large = members.filter(isLarge).map((member) => `\`${member.name}\` (${sizeOf(member)})`);
	return [
		`This answer is ${bytes} bytes of JSON, too large to repeat here. All of it is in this answer's structuredContent, of which this text leaves out ${large.join(", ")}.`,
		...whatHappened(members),
		jsonOfMembers(members.filter((member) => !isLarge(member))),
	].join("\n");
}

function sizeOf({ value, bytes }: AnswerMember): string {
	return Array.isArray(value) ? `${value.length} items, ${bytes} bytes` : `${bytes} bytes`;
}

/** The numbers that matter most, in words: a long report would be left out. */
function whatHappened(members: readonly AnswerMember[]): string[] {
	const report = recordOf(members.find(({ name }) => name === "report")?.value);
	const sizes = ["messages", "tokens", "chars"].flatMap((unit) => {
		const { before, after } = recordOf(report[unit]);
		return typeof before === "number" && typeof after === "number" ? [`${unit} ${before} → ${after}`] : [];
	});
	const fits = typeof report.fits === "boolean" ? [report.fits ? "it fits" : "it does not fit"] : [];
	const words = [...sizes, ...fits].join(", ");
	return words === "" ? [] : [`The conversation: ${words}.`];
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
