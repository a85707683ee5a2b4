/**
 * The version in a name of a Claude model, such as 4.5 in `claude-sonnet-4-5-20250929` or 3.5 in `claude-3-5-sonnet`;
 * `undefined` where the name says none.
 */
export function versionOfClaude(model: string): number | undefined {
	// Eight digits are a date, no version.
	const version = /claude-(?:[a-z]+-)?v?(\d{1,2})(?!\d)(?:[.-](\d)(?!\d))?/.exec(model.toLowerCase());
	return version ? Number(`${version[1]}.${version[2] ?? 0}`) : undefined;
}
