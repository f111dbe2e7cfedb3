import { useSignal } from '@preact/signals';
import { Braces, Download, Eye, EyeOff } from 'lucide';
import { useMemo } from 'preact/hooks';
import { t } from '../../../../text/text';
import { Button } from '../../../../ui/button';
import { Copy, CopyButton } from '../../../../ui/copy';
import { Facts } from '../../../../ui/facts';
import { saveAs } from '../../../../ui/save-as';
import { Empty } from '../../../../ui/state';
import { indentJson } from '../../logs/log-json';
import { quantity } from '../../quantity';
import { mask } from '../../yaml/masks';
import { usedBy } from '../chain/used-by';
import type { Section, SectionProps } from '../section';
import { type DataEntry, dataEntries } from './data-entries';
import { CertificateSection, hasCertificate } from './tls-section';

/** A longer text is cut on the page and whole in its file. */
const shownLength = 100_000;

const sizeText = (bytes: number): string => `${quantity('memory', bytes)}B`;

function DataFacts({ object: { kind, type, immutable } }: SectionProps) {
  return (
    <Facts
      of={[
        [t('data.type'), kind === 'Secret' && typeof type === 'string' && <code key="type">{type}</code>],
        [t('data.immutable'), immutable === true && t('object.yes')],
      ]}
    />
  );
}

function Entries({ object }: SectionProps) {
  const { uid, resourceVersion } = object.metadata;
  const entries = useMemo(() => dataEntries(object), [uid, resourceVersion]);
  if (entries.length === 0) return <Empty text={t('data.none')} />;
  return (
    <div class="containers">
      {entries.map((entry) => (
        // The uid hides the values of a recreated Secret again.
        <Entry key={`${uid}/${entry.key}`} entry={entry} isSecret={object.kind === 'Secret'} />
      ))}
    </div>
  );
}

function Entry({ entry, isSecret }: { entry: DataEntry; isSecret: boolean }) {
  const { key, bytes, text } = entry;
  const [isRevealed, isIndented] = [useSignal(!isSecret), useSignal(false)];
  const pretty = useMemo(() => (isRevealed.value && text !== undefined ? indentJson(text) : undefined), [text, isRevealed.value]);
  const flip = (it: { value: boolean }) => () => {
    it.value = !it.value;
  };
  return (
    <article class="container" aria-label={key}>
      <header>
        <h3>
          <code>{key}</code>
        </h3>
        <span class="muted">{sizeText(bytes.length)}</span>
        <div class="tools">
          {isSecret && (
            <Button kind="quiet" icon={isRevealed.value ? EyeOff : Eye} onClick={flip(isRevealed)}>
              {t(isRevealed.value ? 'data.hide' : 'data.reveal')}
            </Button>
          )}
          {!isRevealed.value && text && <CopyButton text={text} isNamed />}
          {pretty !== undefined && (
            <Button kind="quiet" icon={Braces} onClick={flip(isIndented)}>
              {t(isIndented.value ? 'data.stored' : 'data.indent')}
            </Button>
          )}
          <Button kind="quiet" icon={Download} onClick={() => saveAs(key, new Blob([bytes]))}>
            {t('cluster.download')}
          </Button>
        </div>
      </header>
      {isRevealed.value ? <Value name={key} text={isIndented.value ? (pretty ?? text) : text} /> : <code>{mask}</code>}
    </article>
  );
}

function Value({ name, text }: { name: string; text: string | undefined }) {
  if (text === undefined) return <p class="muted">{t('data.binary')}</p>;
  if (text === '') return <p class="muted">{t('data.empty')}</p>;
  return (
    <>
      <Copy label={name} text={text.slice(0, shownLength)} />
      {text.length > shownLength && <p class="muted">{t('data.cut', { count: shownLength })}</p>}
    </>
  );
}

const shown: readonly Section[] = [
  { isShown: ({ kind, immutable }) => kind === 'Secret' || immutable === true, View: DataFacts },
  { title: 'tls.title', isShown: hasCertificate, View: CertificateSection },
  { title: 'data.title', View: Entries },
  usedBy,
];

export const sections: Readonly<Record<string, readonly Section[]>> = { configmaps: shown, secrets: shown };
