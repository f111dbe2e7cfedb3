const trusted = Symbol('HTML');

/** Text that is HTML already. Only `html` makes it, so nothing that came from outside gets into a page unescaped. */
export interface Html {
  readonly [trusted]: string;
}

export type HtmlValue = Html | string | number | undefined | false | readonly HtmlValue[];

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function textOf(value: HtmlValue): string {
  if (value === undefined || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return String(value).replace(/[&<>"']/g, (sign) => escapes[sign] ?? '');
  return trusted in value ? value[trusted] : value.map(textOf).join('');
}

/** HTML with values in it: text is escaped (for elements and quoted attributes), `undefined` and `false` are left out, lists are joined. */
export const html = (parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html => ({
  [trusted]: parts.reduce((text, part, index) => text + textOf(values[index - 1]) + part),
});

export const htmlText = (page: Html): string => page[trusted];

/** A style sheet of our own, as it is: in it escapes would mean something else. */
export const styleElement = (css: string): Html => ({ [trusted]: `<style>${css}</style>` });

/** A script of our own, as it is. */
export const scriptElement = (script: string): Html => ({ [trusted]: `<script>${script}</script>` });
