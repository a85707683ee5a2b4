/** One member of a tool's answer with its JSON. */
export interface AnswerMember {
	readonly name: string;
	readonly value: unknown;
	/** `undefined` where it is nested too deep for `JSON.stringify`, with which the SDK sends it. */
	readonly json: string | undefined;
	/** Bytes that it takes in the answer's JSON, a comma or brace included; infinite where it cannot be sent. */
	readonly bytes: number;
}

/** The members of an answer, each written as JSON once for all that is asked about it later. */
export function membersOf(answer: Readonly<Record<string, unknown>>): readonly AnswerMember[] {
	return Object.entries(answer)
		.filter(([, value]) => value !== undefined)
		.map(([name, value]) => {
			const json = sendableJson(value);
			const bytes = Buffer.byteLength(JSON.stringify(name)) + 1 + Buffer.byteLength(json ?? "") + 1;
			return { name, value, json, bytes: json === undefined ? Number.POSITIVE_INFINITY : bytes };
		});
}

/** Bytes of the JSON of the object that members make. */
export function bytesOfMembers(members: readonly AnswerMember[]): number {
	return members.reduce((sum, { bytes }) => sum + bytes, 1);
}

/** Members that can be sent, as the JSON of the object that they make. */
export function jsonOfMembers(members: readonly AnswerMember[]): string {
	return `{${members.map(({ name, json }) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
}

/** Levels of nesting that the message around an answer may add. */
const levelsAround = 64;

function sendableJson(value: unknown): string | undefined {
	let wrapped: unknown = value;
	for (let level = 0; level < levelsAround; level += 1) wrapped = [wrapped];
	try {
		return JSON.stringify(wrapped).slice(levelsAround, -levelsAround);
	} catch (error) {
		if (error instanceof RangeError) return undefined;
		throw error;
	}
}
