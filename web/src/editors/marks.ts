/** Marks of the editor: what the schemas refuse while a text is written, and what the API server refused, each at its line. */
import { type Diagnostic, forEachDiagnostic, linter, lintKeymap, setDiagnosticsEffect } from '@codemirror/lint';
import { type EditorState, type Extension, StateEffect, StateField } from '@codemirror/state';
import { EditorView, keymap, type Panel, showPanel, ViewPlugin } from '@codemirror/view';
import type { ReadonlySignal } from '@preact/signals';
import { isMap } from 'yaml';
import { t } from '../text/text';
import type { FindSchemas, ObjectType } from './completion.ts';
import { type Finding, findingsIn, type Path, pathIn, placeOf } from './schema-check.ts';
import { documentsIn } from './yaml.ts';

/** Refusal of the API server about a document of the text. */
export interface Refusal {
  /** Counted from 0. */
  document: number;
  /** Path of the field, as the API server writes it. */
  field: string;
  message: string;
}

export interface MarkOptions {
  /** The type of a document that names none yet. */
  type: ObjectType;
  find: FindSchemas;
  /** Refusals of the text that was sent last. */
  refusals: ReadonlySignal<readonly Refusal[]>;
}

const typeTexts = {
  string: 'editor.typeText',
  integer: 'editor.typeInteger',
  number: 'editor.typeNumber',
  array: 'editor.typeList',
  object: 'editor.typeMapping',
  either: 'editor.typeEither',
} as const;

const pathText = (path: Path): string =>
  path.reduce<string>((text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`), '');

function wordsOf(finding: Finding): string {
  const field = pathText(finding.path);
  switch (finding.what) {
    case 'quote':
      return t('editor.markQuote', { field, value: finding.value });
    case 'type':
      if (finding.wanted === 'boolean') return t('editor.markValue', { field, values: 'true, false' });
      return t('editor.markType', { field, wanted: t(typeTexts[finding.wanted as keyof typeof typeTexts] ?? 'editor.typeMapping') });
    case 'value':
      return t('editor.markValue', { field, values: finding.values.map(String).filter(Boolean).join(', ') });
    case 'missing':
      return t('editor.markMissing', { field });
    default:
      return finding.near === undefined ? t('editor.markUnknown', { field }) : t('editor.markUnknownNear', { field, near: finding.near });
  }
}

/** Checks each document by the schema of its kind. A kind without a schema is not checked. */
const bySchema = (type: ObjectType, find: FindSchemas) =>
  linter(async ({ state: { doc } }): Promise<Diagnostic[]> => {
    const documents = documentsIn(doc.toString());
    const found = await Promise.all(
      documents.map(async (document) => {
        const schemas = document.errors.length > 0 ? undefined : await find(typeOf(document.contents, type));
        return schemas === undefined ? [] : findingsIn(document, schemas);
      }),
    );
    return found.flat().map((finding) => diagnostic(finding.from, finding.to, wordsOf(finding), finding.what === 'missing'));
  });

function typeOf(contents: unknown, preset: ObjectType): ObjectType {
  const [apiVersion, kind] = ['apiVersion', 'kind'].map((name) => (isMap(contents) ? contents.get(name) : undefined));
  return {
    apiVersion: typeof apiVersion === 'string' ? apiVersion : preset.apiVersion,
    kind: typeof kind === 'string' ? kind : preset.kind,
  };
}

/** A missing field is a warning: the API server fills in some of them. */
const diagnostic = (from: number, to: number, message: string, isWarning = false): Diagnostic => ({
  ...{ from, to, message },
  severity: isWarning ? 'warning' : 'error',
});

const setRefusals = StateEffect.define<readonly Refusal[]>();

/** Refusals at their places; a change at its place ends one. */
const refused = StateField.define<readonly Diagnostic[]>({
  create: () => [],
  update(marks, { effects, changes, state }) {
    const newest = effects.findLast((effect) => effect.is(setRefusals));
    if (newest) return placed(newest.value, state);
    if (changes.empty) return marks;
    return marks
      .filter(({ from, to }) => !changes.touchesRange(from, to))
      .map((mark) => ({ ...mark, from: changes.mapPos(mark.from), to: changes.mapPos(mark.to) }));
  },
});

function placed(refusals: readonly Refusal[], { doc }: EditorState): Diagnostic[] {
  const documents = refusals.length > 0 ? documentsIn(doc.toString()) : [];
  return refusals.map(({ document, field, message }) => {
    const [from, to] = placeOf(documents[document]?.contents, pathIn(field));
    return diagnostic(Math.min(from, doc.length), Math.min(to, doc.length), message);
  });
}

const byServer = linter(({ state }) => state.field(refused), {
  needsRefresh: ({ transactions }) => transactions.some(({ effects }) => effects.some((effect) => effect.is(setRefusals))),
});

/** Shows the newest refusals. A view takes no change while it is made. */
const following = (refusals: ReadonlySignal<readonly Refusal[]>) =>
  ViewPlugin.define((view) => {
    let isOver = false;
    const show = (newest: readonly Refusal[]) => {
      if (!isOver && (newest.length > 0 || view.state.field(refused).length > 0)) view.dispatch({ effects: setRefusals.of(newest) });
    };
    const stop = refusals.subscribe((newest) => queueMicrotask(() => show(newest)));
    return {
      destroy() {
        isOver = true;
        stop();
      },
    };
  });

/** List of the marks, so that they need no pointer. */
function marksPanel(view: EditorView): Panel {
  const dom = document.createElement('section');
  dom.className = 'cm-marks';
  dom.ariaLabel = t('editor.marks');
  const list = document.createElement('ul');
  list.role = 'list';
  const count = document.createElement('p');
  count.role = 'status';
  dom.append(count, list);
  const show = (state: EditorState) => {
    const marks = marksIn(state);
    dom.hidden = marks.length === 0;
    count.textContent = marks.length === 0 ? '' : t('editor.marksCount', { count: marks.length });
    list.replaceChildren(...marks.map((mark) => markItem(view, mark)));
  };
  show(view.state);
  return {
    dom,
    update({ state, transactions }) {
      if (transactions.some(({ effects }) => effects.some((effect) => effect.is(setDiagnosticsEffect)))) show(state);
    },
  };
}

interface Mark {
  from: number;
  line: number;
  message: string;
}

/** Returns the marks in the order of the text, without equal ones. */
function marksIn(state: EditorState): Mark[] {
  const marks = new Map<string, Mark>();
  forEachDiagnostic(state, ({ message }, from) => {
    const { number: line } = state.doc.lineAt(from);
    marks.set(`${line} ${message}`, { from, line, message });
  });
  return [...marks.values()].sort((a, b) => a.from - b.from);
}

function markItem(view: EditorView, { from, line, message }: Mark): HTMLLIElement {
  const item = document.createElement('li');
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = t('editor.markAt', { line, message });
  button.addEventListener('click', () => {
    view.dispatch({ selection: { anchor: from }, scrollIntoView: true });
    view.focus();
  });
  item.append(button);
  return item;
}

const look = EditorView.theme({
  '.cm-marks': {
    maxBlockSize: '112px',
    overflow: 'auto',
    padding: '6px 12px',
    borderBlockEnd: '1px solid var(--line)',
    fontSize: '13px',
    lineHeight: '20px',
  },
  '.cm-marks[hidden]': { display: 'none' },
  '.cm-marks p': { margin: '0', fontWeight: '600' },
  '.cm-marks ul': { margin: '0', padding: '0', listStyle: 'none' },
  '.cm-marks button': {
    inlineSize: '100%',
    minBlockSize: '24px',
    padding: '2px 0',
    border: '0',
    background: 'none',
    color: 'var(--text)',
    font: 'inherit',
    textAlign: 'start',
    cursor: 'pointer',
    overflowWrap: 'anywhere',
  },
  '.cm-marks button:hover': { textDecoration: 'underline' },
  '.cm-marks button:focus-visible': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
});

export const marking = ({ type, find, refusals }: MarkOptions): Extension[] => [
  bySchema(type, find),
  refused,
  byServer,
  following(refusals),
  keymap.of(lintKeymap),
  showPanel.of(marksPanel),
  look,
];
