import { PalimpsestError } from "../errors.ts";

const mostProblemsListed = 50;

/** The error for a policy that cannot be used: where it came from, then one problem a line. */
export function invalidPolicy(source: string, problems: readonly string[]): PalimpsestError {
	const lines = problems.slice(0, mostProblemsListed).map((problem) => `- ${problem}`);
	const rest = problems.length - lines.length;
	if (rest > 0) lines.push(`- and ${rest} more`);
	return new PalimpsestError("invalid_policy", `Invalid policy in ${source}:\n${lines.join("\n")}`);
}
