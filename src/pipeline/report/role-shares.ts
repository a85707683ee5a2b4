import type { Size } from "../../engine/edit.ts";
import type { Measurement } from "../../engine/measure.ts";
import { type SizeSum, startSum } from "../../engine/size.ts";
import type { TokenScale } from "../../engine/token-scale.ts";
import type { Message, Transcript } from "../../engine/transcript.ts";
import type { ReportedRole, RoleShare } from "./context-report.ts";
import type { CountedResult } from "./counted-results.ts";
import { scaleParts } from "./scale-parts.ts";

const roles: readonly ReportedRole[] = ["system", "user", "assistant", "tool", "other"];

/** What each role fills, the largest first; roles that fill nothing are left out. */
export function roleShares(what: {
	readonly transcript: Transcript;
	readonly measurement: Measurement;
	readonly results: readonly CountedResult[];
	readonly scale: TokenScale;
}): RoleShare[] {
	const { transcript, measurement, results, scale } = what;
	const sums = new Map(roles.map((role) => [role, { size: startSum(), messages: 0 }]));
	const of = (role: ReportedRole) => sums.get(role) as { readonly size: SizeSum; messages: number };
	const beside = startSum(measurement.total);
	transcript.messages.forEach((message, index) => {
		if (message.sent === false) return;
		const size = measurement.messages[index] as Size;
		const share = of(roleOf(message));
		share.messages += 1;
		share.size.add(size);
		beside.subtract(size);
	});
	for (const { message, size } of results) {
		of(roleOf(transcript.messages[message] as Message)).size.subtract(size);
		of("tool").size.add(size);
	}
	of("system").size.add(beside.total());
	const sizes = roles.map((role) => of(role).size.total());
	const tokens = scaleParts(sizes, scale);
	return roles
		.map((role, index) => ({
			role,
			tokens: tokens[index] ?? 0,
			chars: sizes[index]?.chars ?? 0,
			messages: of(role).messages,
		}))
		.filter((share) => share.tokens > 0 || share.messages > 0)
		.sort((a, b) => b.tokens - a.tokens);
}

/** Some formats have results come in messages of the user. */
function roleOf({ role, results, counted }: Message): ReportedRole {
	return role !== "assistant" && results.length > 0 && counted.every((text) => text === "") ? "tool" : role;
}
