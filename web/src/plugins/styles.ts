/**
 * Style sheets in the place of a plugin: those of the console, and those of the plugin. They are constructed, because the content security
 * policy allows no other.
 */
import base from '../ui/base.css?inline';
import controls from '../ui/controls.css?inline';
import table from '../ui/table.css?inline';
import widths from '../ui/table-widths.css?inline';

const host =
  ':host { display: block; } .plugin-place { display: flow-root; } .form { max-inline-size: 560px; } .count { align-self: center; }';
const sheets = new Map<string, readonly CSSStyleSheet[]>();
let own: CSSStyleSheet | undefined;

function sheetOf(text: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  return sheet;
}

export function keepStyles(plugin: string, texts: readonly string[]): void {
  sheets.set(plugin, texts.map(sheetOf));
}

export function dropStyles(plugin: string): void {
  sheets.delete(plugin);
}

export function stylesOf(plugin: string): CSSStyleSheet[] {
  own ??= sheetOf([base, controls, table, widths, host].join('\n'));
  return [own, ...(sheets.get(plugin) ?? [])];
}
