/** Cells that several kinds share. Source: kubernetes/pkg/printers/internalversion. */

import { column } from '../columns.ts';
import { isJsonObject, type JsonObject, type KubernetesObject, valueAt } from '../objects.ts';
import type { Column } from '../resources.ts';

export const wide = { priority: 1 };

export const at = (object: unknown, path: string) => valueAt(object, path.split('.'));
export const listAt = (object: unknown, path: string): JsonObject[] => {
  const list = at(object, path);
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
};
export const textsAt = (object: unknown, path: string): string[] => {
  const list = at(object, path);
  return Array.isArray(list) ? list.map(String) : [];
};
export const orNone = (value: unknown) => (value === undefined || value === null || value === '' ? '<none>' : String(value));

/** A column of the text at a path, empty without one. */
export const field = (name: string, path: string, rest?: Partial<Column>) => column(name, (object) => at(object, path) ?? '', rest);
export const count = (name: string, path: string, type = 'integer') => column(name, (object) => at(object, path) ?? 0, { type });

/** Joins the first members of a list, and counts the rest. */
export function joined(texts: readonly string[], none: string, most = 3): string {
  const more = texts.length > most ? ` + ${texts.length - most} more...` : '';
  return texts.length === 0 ? none : `${texts.slice(0, most).join(',')}${more}`;
}

export const labelText = (labels: unknown) =>
  orNone(
    Object.entries(isJsonObject(labels) ? labels : {})
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(','),
  );

const operators: Readonly<Record<string, (key: string, values: string) => string>> = {
  In: (key, values) => `${key} in (${values})`,
  NotIn: (key, values) => `${key} notin (${values})`,
  Exists: (key) => key,
  DoesNotExist: (key) => `!${key}`,
};

/** Returns a selector as kubectl takes it. */
export function selectorText(selector: unknown): string {
  const labels = labelText(at(selector, 'matchLabels'));
  const expressions = listAt(selector, 'matchExpressions').map((one) =>
    operators[String(one.operator)]?.(String(one.key), textsAt(one, 'values').sort().join(',')),
  );
  return orNone([...(labels === '<none>' ? [] : [labels]), ...expressions].join(','));
}

/** Columns of the containers of a template, shown with `-o wide`. */
export const containerColumns = (template: string) =>
  Object.entries({ Containers: 'name', Images: 'image' }).map(([name, member]) => {
    const cell = (object: KubernetesObject) => listAt(object, `${template}.spec.containers`).map((container) => container[member]);
    return column(name, (object) => cell(object).join(','), wide);
  });

export const selectorColumn = column('Selector', (object) => selectorText(at(object, 'spec.selector')), wide);
export const templateColumns = [...containerColumns('spec.template'), selectorColumn];
