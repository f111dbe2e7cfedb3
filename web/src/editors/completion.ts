/** Completes and explains the fields of Kubernetes objects while their YAML is written, by the schemas of the API server. */
import { autocompletion, type Completion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import { type EditorState, type Extension, StateEffect, StateField } from '@codemirror/state';
import { EditorView, type Panel, showPanel, ViewPlugin, type ViewUpdate } from '@codemirror/view';
import { type Field, fieldAt, fieldsAt, item, type Schemas } from '../api/schema-fields.ts';
import { t } from '../text/text';
import { type MarkOptions, marking } from './marks.ts';
import { type Cursor, cursorIn, fieldOn, type Lines, typeAround } from './yaml-path.ts';

export interface ObjectType {
  apiVersion: string;
  kind: string;
}

/** Finds the schemas of a type. Undefined: the cluster publishes none, or they cannot be read. */
export type FindSchemas = (type: ObjectType) => Promise<Schemas | undefined>;

export type CompletionOptions = MarkOptions;

const linesOf = ({ doc }: EditorState): Lines => ({ count: doc.lines, line: (number) => doc.line(number).text });

const plain = /^[A-Za-z][\w./-]*$/;
const reserved = /^(?:true|false|yes|no|on|off|null|y|n)$/i;

/** Writes a value of a schema as YAML. */
const valueText = (value: unknown): string =>
  typeof value === 'string' && !(plain.test(value) && !reserved.test(value)) ? JSON.stringify(value) : String(value);

/** The text behind the name of a field: what it holds begins as kubectl would write it. */
function behindName({ shape }: Field, column: number): string {
  if (shape === 'scalar') return ': ';
  return shape === 'list' ? `:\n${' '.repeat(column)}- ` : `:\n${' '.repeat(column + 2)}`;
}

const requiredFirst = 1;

const optionOfField = (field: Field, cursor: Cursor): Completion => ({
  label: field.name,
  type: 'property',
  detail: field.isRequired ? `${field.type} · ${t('editor.required')}` : field.type,
  apply: (plain.test(field.name) ? field.name : JSON.stringify(field.name)) + (cursor.hasColon ? '' : behindName(field, cursor.from)),
  ...(field.isRequired && { boost: requiredFirst }),
  ...(field.description && { info: field.description }),
});

const optionOfValue = (value: unknown): Completion => ({ label: valueText(value), type: 'enum' });

function optionsAt({ root, resolve }: Schemas, cursor: Cursor): Completion[] {
  if (cursor.at === 'value') return (fieldAt(root, cursor.path, resolve)?.values ?? []).map(optionOfValue);
  const fields = fieldsAt(root, cursor.path, resolve).filter(({ name }) => !cursor.present.has(name));
  if (fields.length > 0 || cursor.path.at(-1) !== item) return fields.map((field) => optionOfField(field, cursor));
  return (fieldAt(root, cursor.path, resolve)?.values ?? []).map(optionOfValue);
}

const typeAt = (state: EditorState, number: number, type: ObjectType): ObjectType => ({ ...type, ...typeAround(linesOf(state), number) });

const completeBy =
  ({ type, find }: CompletionOptions) =>
  async ({ state, pos, explicit }: CompletionContext): Promise<CompletionResult | null> => {
    const line = state.doc.lineAt(pos);
    const cursor = cursorIn(linesOf(state), line.number, pos - line.from);
    if (cursor === undefined || (!explicit && pos - line.from === cursor.from)) return null;
    const schemas = await find(typeAt(state, line.number, type));
    const options = schemas ? optionsAt(schemas, cursor) : [];
    if (options.length === 0) return null;
    return { from: line.from + cursor.from, to: line.from + cursor.to, options, validFor: /^[\w./-]*$/ };
  };

interface Explained extends Field {
  path: string;
}

const setExplained = StateEffect.define<Explained | undefined>();
const explained = StateField.define<Explained | undefined>({
  create: () => undefined,
  update(value, { effects }) {
    const newest = effects.findLast((effect) => effect.is(setExplained));
    return newest ? newest.value : value;
  },
});

/** Looks up the field on the line of the cursor, and shows what was found for the newest position only. */
const explainer = ({ type, find }: CompletionOptions) =>
  ViewPlugin.fromClass(
    class {
      #asked = 0;
      #isOver = false;

      constructor(view: EditorView) {
        void this.#explain(view);
      }

      update({ docChanged, selectionSet, view }: ViewUpdate): void {
        if (docChanged || selectionSet) void this.#explain(view);
      }

      destroy(): void {
        this.#isOver = true;
      }

      async #explain(view: EditorView): Promise<void> {
        this.#asked += 1;
        const mine = this.#asked;
        const { number } = view.state.doc.lineAt(view.state.selection.main.head);
        const path = fieldOn(linesOf(view.state), number);
        const schemas = await find(typeAt(view.state, number, type));
        if (mine !== this.#asked || this.#isOver) return;
        const field = path && schemas && fieldAt(schemas.root, path, schemas.resolve);
        const next = field && {
          ...field,
          path: path
            .map((step) => (step === item ? '[]' : step))
            .join('.')
            .replaceAll('.[]', '[]'),
        };
        if (next?.path !== view.state.field(explained)?.path) view.dispatch({ effects: setExplained.of(next) });
      }
    },
  );

function explanationPanel(view: EditorView): Panel {
  const dom = document.createElement('div');
  dom.className = 'cm-explained';
  // Its text can be longer than its room.
  dom.tabIndex = 0;
  dom.role = 'note';
  dom.ariaLabel = t('editor.explained');
  const show = ({ state }: { state: EditorState }) => {
    const field = state.field(explained);
    if (field === undefined) return dom.replaceChildren(textIn('span', t('editor.explainHint')));
    const required = field.isRequired ? [' ', textIn('strong', t('editor.required'))] : [];
    dom.replaceChildren(textIn('code', field.path), ' ', textIn('span', field.type), ...required, textIn('p', field.description));
    dom.scrollTop = 0;
  };
  show(view);
  return { dom, update: (update) => update.startState.field(explained) !== update.state.field(explained) && show(update) };
}

function textIn(tag: 'span' | 'strong' | 'code' | 'p', text: string): HTMLElement {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

const look = EditorView.theme({
  '.cm-explained': {
    blockSize: '68px',
    overflow: 'auto',
    padding: '6px 12px',
    fontSize: '13px',
    lineHeight: '18px',
    boxSizing: 'border-box',
  },
  '.cm-explained code': { fontFamily: 'var(--code)', fontWeight: '600' },
  '.cm-explained span': { color: 'var(--muted)' },
  '.cm-explained p': { margin: '0', whiteSpace: 'pre-line' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--text)', border: '1px solid var(--edge)', borderRadius: '6px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--code)', maxBlockSize: '14em' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 8px', lineHeight: '20px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--chosen)', color: 'var(--text)' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700', color: 'var(--accent)' },
  '.cm-completionDetail': { color: 'var(--muted)', fontStyle: 'normal' },
  '.cm-completionInfo': { padding: '8px 12px', maxInlineSize: '360px', maxBlockSize: '220px', overflow: 'auto', whiteSpace: 'pre-line' },
});

export const completing = (options: CompletionOptions): Extension[] => [
  marking(options),
  autocompletion({ override: [completeBy(options)], icons: false, activateOnTypingDelay: 50 }),
  explained,
  explainer(options),
  showPanel.of(explanationPanel),
  look,
];
