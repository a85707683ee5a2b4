/** An argument as the shells of hosts take it. */
export function shellArgument(argument: string): string {
	return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `"${argument.replace(/(["\\$`])/g, "\\$1")}"`;
}
