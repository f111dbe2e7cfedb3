/**
 * The editor for YAML: loaded when it is first opened. In a shadow root, where its styles are constructed sheets that the policy allows.
 */
import { type Diagnostic, linter, lintGutter } from '@codemirror/lint';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { Problem } from '../api/problem';
import { t } from '../text/text';
import { editing, readingKeys, shared } from './code';
import { type Mistake, mistakesIn, parse as parseYaml, YamlError } from './yaml';

export { stringify } from './yaml';

/** The objects of a text. @throws Problem that names the line of a mistake */
export function parse(text: string): unknown[] {
  try {
    return parseYaml(text);
  } catch (error) {
    throw error instanceof YamlError ? new Problem(0, { message: wordsOf(error.mistake) }) : error;
  }
}

const mistakeTexts = { key: 'cluster.yamlKey', tag: 'cluster.yamlTag', syntax: 'cluster.yamlSyntax' } as const;

const wordsOf = ({ what, line, message }: Mistake): string => t(mistakeTexts[what], { line, message });

export interface EditorOptions {
  label: string;
  text: string;
  isReadOnly: boolean;
  /** Help with writing, which is loaded apart. */
  extensions?: readonly Extension[];
  onChange?: (text: string) => void;
}

export interface Editor {
  setText(text: string): void;
  focus(): void;
  stop(): void;
}

const problems = linter(({ state: { doc } }): Diagnostic[] =>
  mistakesIn(doc.toString()).map((mistake) => ({
    from: Math.min(mistake.from, doc.length),
    to: Math.min(mistake.to, doc.length),
    severity: 'error',
    message: wordsOf(mistake),
  })),
);

export function startEditor(host: HTMLElement, { label, text, isReadOnly, extensions = [], onChange }: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const reading = [EditorState.readOnly.of(true), readingKeys()];
  const writing = [
    ...editing(),
    problems,
    lintGutter(),
    ...extensions,
    EditorView.updateListener.of(({ docChanged, state }) => {
      if (docChanged) onChange?.(state.doc.toString());
    }),
  ];
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({ doc: text, extensions: [...shared(label), ...(isReadOnly ? reading : writing)] }),
  });
  return {
    setText(next) {
      if (next !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
    },
    focus: () => view.focus(),
    stop: () => view.destroy(),
  };
}
