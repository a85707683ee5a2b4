import type { Size } from "./edit.ts";

/**
 * Remembers the sizes of parts of a transcript while these are held: they never change once they are read, and several
 * steps of a call measure them.
 */
export function rememberSize<Part extends object, Meter extends object>(
	measure: (part: Part, meter: Meter) => Size,
): (part: Part, meter: Meter) => Size {
	const byMeter = new WeakMap<Meter, WeakMap<Part, Size>>();
	return (part, meter) => {
		let sizes = byMeter.get(meter);
		if (!sizes) {
			sizes = new WeakMap();
			byMeter.set(meter, sizes);
		}
		let size = sizes.get(part);
		if (!size) {
			size = measure(part, meter);
			sizes.set(part, size);
		}
		return size;
	};
}
