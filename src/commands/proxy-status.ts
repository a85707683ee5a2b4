import { PalimpsestError } from "../errors.ts";
import { counted, formatCount } from "../pages/replay-data.ts";
import { pageAddress } from "../proxy/keys.ts";
import { billText, frozenText, keptWarmText, undecidedText, unknownUsageText } from "../proxy/ledger-text.ts";
import { listRunning, type RunningProxy, statusTextOf } from "../proxy/running.ts";
import type { ProxyStatus } from "../proxy/status.ts";
import { printJson, show, shownName } from "./input-output.ts";

export const defaultPort = 8787;

/** `palimpsest proxy status`: of the proxy at a port, else of all that are listed as running. */
export async function proxyStatus({ port, json }: { readonly port?: number; readonly json?: true }): Promise<void> {
	if (port !== undefined) {
		const status = await statusOf(await runningAt(port));
		return json ? printJson(status, 2) : show(`${linesOf(status).join("\n")}\n`);
	}
	const running = await listRunning();
	const answered = running.map(async (one) => [{ ...one, status: await statusOf(one) }]);
	// One may end now.
	const found = (await Promise.all(answered.map((one) => one.catch(() => [])))).flat();
	if (json) {
		const shown = found.map(({ keys, ...one }) => ({ ...one, page: pageAddress(one.address, keys) }));
		return printJson(shown, 2);
	}
	if (found.length === 0) {
		const message = "No palimpsest proxy is running. Start one with `palimpsest proxy` or `palimpsest launch`.";
		throw new PalimpsestError("invalid_argument", message);
	}
	show(`${found.map((one) => [headingOf(one), ...linesOf(one.status)].join("\n")).join("\n\n")}\n`);
}

function headingOf({ address, pid, program, started, keys }: RunningProxy): string {
	const since = new Date(started).toISOString().slice(0, 16).replace("T", " ");
	const behind = program === undefined ? "" : `${shownName(program)}, `;
	return `${pageAddress(address, keys)} (${behind}process ${pid}, since ${since} UTC)`;
}

function linesOf(status: ProxyStatus): string[] {
	const { requests, faults, undecided, kept_warm: keptWarm, edited, held_out: heldOut, conversations } = status;
	const troubles = Object.entries(faults).flatMap(([kind, count]) =>
		count > 0 ? [`${formatCount(count)} ${kind.replaceAll("_", " ")}`] : [],
	);
	const line = (name: string, one: typeof edited) =>
		`${name}: ${counted(one.requests, "request")}, tokens sent ${formatCount(one.tokens_sent)}, left out ${formatCount(one.tokens_left_out)}, billed ${billText(one)}`;
	return [
		[
			counted(requests.requests, "request"),
			`${formatCount(requests.edited)} with masked or cut results`,
			...(requests.sent_again > 0
				? [`${formatCount(requests.sent_again)} refused and sent again in another form`]
				: []),
			...(requests.threads > 0 ? [`${formatCount(requests.threads)} threads passed`] : []),
			...(troubles.length > 0 ? [`without new decisions by a fault: ${troubles.join(", ")}`] : ["no faults"]),
		].join(", "),
		...undecidedText(undecided),
		...frozenText(status.frozen_conversations),
		...keptWarmText(keptWarm),
		...unknownUsageText({ requests: status.unknown_usage, fields: status.unknown_usage_fields }),
		line("all", edited),
		...(heldOut.requests > 0 ? [line("held out", heldOut)] : []),
		...conversations.map((one) => line(nameOf(one), one)),
	];
}

/** Of a conversation, or of a person if the proxy has several callers. */
function nameOf({ id, api, model, state }: ProxyStatus["conversations"][number]): string {
	if (api === "all") return shownName(id);
	return `${id.slice(0, 8)} (${shownName(model ?? api)}, ${state.replaceAll("_", " ")})`;
}

/** The proxy of this user at a port. Any other server there is not believed. Throws `invalid_argument`. */
export async function runningAt(port: number): Promise<RunningProxy> {
	const found = (await listRunning()).find(({ address }) => new URL(address).port === String(port));
	return found ?? refuseMissing(port);
}

async function statusOf(proxy: RunningProxy): Promise<ProxyStatus> {
	try {
		return JSON.parse(await statusTextOf(proxy)) as ProxyStatus;
	} catch {
		return refuseMissing(Number(new URL(proxy.address).port));
	}
}

function refuseMissing(port: number): never {
	const message = `No palimpsest proxy of this user answers on port ${port}. Start one with \`palimpsest proxy\`, or name its port with --port.`;
	throw new PalimpsestError("invalid_argument", message);
}
