import { quote } from "./describe-value.ts";
import { invalidPolicy } from "./invalid-policy.ts";
import { mergeLayers } from "./merge-layers.ts";
import { parseSetting } from "./parse-setting.ts";
import type { PolicyLayer } from "./policy-layer.ts";

/**
 * The layer that `--set key=value` arguments make. Values are TOML; what is no TOML is taken as text. A later setting
 * of the same key wins.
 *
 * @throws PalimpsestError `invalid_policy`, listing every setting that cannot be used.
 */
export function settingsLayer(settings: readonly string[]): PolicyLayer {
	const problems: string[] = [];
	let layer: PolicyLayer = {};
	for (const setting of settings) {
		const equals = setting.indexOf("=");
		if (equals < 1) {
			problems.push(`expected key=value, such as mask.window_turns=5, got ${quote(setting)}`);
			continue;
		}
		const checked = parseSetting(setting.slice(0, equals).trim(), setting.slice(equals + 1).trim());
		problems.push(...checked.problems);
		layer = mergeLayers(layer, checked.layer);
	}
	if (problems.length > 0) throw invalidPolicy("--set", problems);
	return layer;
}
