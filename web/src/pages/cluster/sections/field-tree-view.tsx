import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import type { Kind } from '../../../api/kinds';
import { useLoad } from '../../../api/load';
import { getJson } from '../../../api/objects';
import { SchemaDocs } from '../../../api/schema-docs';
import { t } from '../../../text/text';
import { CheckField } from '../../../ui/form';
import { Failure, Skeleton } from '../../../ui/state';
import { type Field, fieldsOf, itemName, openedPaths, pathOf, valueText } from './field-tree';

const documentPath = ({ group, version }: Kind): string =>
  `api/kubernetes/openapi/v3/${group ? `apis/${encodeURIComponent(group)}` : 'api'}/${encodeURIComponent(version)}`;

interface FieldTreeProps {
  kind: Kind;
  /** A part of an object of the kind. */
  value: unknown;
  /** Distinguishes objects: fields that were opened stay open for one of them. */
  id: string;
}

/** The fields of an object, with the words of the schema on demand: the document of a group version may have megabytes. */
export function FieldTree({ kind, value, id }: FieldTreeProps) {
  const isExplained = useSignal(false);
  const opened = useMemo(() => openedPaths(value), [id]);
  const { group, version } = kind;
  const load = useLoad(isExplained.value ? `schema/${group}/${version}` : undefined, async (signal) => {
    const docs = new SchemaDocs(await getJson<unknown>(documentPath(kind), signal));
    return { docs };
  });
  const docs = isExplained.value ? load.data.value?.docs : undefined;
  const schema = docs?.ofKind(kind);
  return (
    <>
      <CheckField
        label={t('fields.explain')}
        isChecked={isExplained.value}
        onChange={(isChecked) => {
          isExplained.value = isChecked;
        }}
      />
      {isExplained.value && docs === undefined && <Waiting load={load} />}
      {docs && schema === undefined && <p class="muted">{t('fields.noSchema')}</p>}
      <FieldList {...{ value, docs, schema, opened }} path="" level={0} />
    </>
  );
}

const Waiting = ({
  load: { error, reload },
}: {
  load: { error: { value: Parameters<typeof Failure>[0]['problem'] | undefined }; reload: () => Promise<void> };
}) => (error.value ? <Failure problem={error.value} onRetry={() => void reload()} /> : <Skeleton rows={1} />);

interface FieldListProps {
  value: unknown;
  docs: SchemaDocs | undefined;
  schema: ReturnType<SchemaDocs['ofKind']>;
  opened: ReadonlySet<string>;
  path: string;
  level: number;
}

/** Deeper levels are not indented: a phone has room for these. */
const indentedLevels = 6;

function FieldList({ value, docs, schema, opened, path, level }: FieldListProps) {
  const fields = fieldsOf(value);
  if (fields === undefined) return null;
  return (
    <ul class={level > 0 && level <= indentedLevels ? 'fields indented' : 'fields'}>
      {fields.shown.map((field) => (
        <OneField
          key={field.name}
          {...{ field, docs, opened, level }}
          schema={docs?.ofMember(schema, field.name)}
          path={pathOf(path, field)}
        />
      ))}
      {fields.hidden > 0 && <li class="muted">{t('fields.hidden', { count: fields.hidden })}</li>}
    </ul>
  );
}

interface OneFieldProps extends Omit<FieldListProps, 'value'> {
  field: Field;
}

function OneField({ field: { name, value }, docs, schema, opened, path, level }: OneFieldProps) {
  const isOpen = useSignal(opened.has(path));
  const isItem = typeof name === 'number';
  const hint = docs?.description(schema) ?? '';
  const head = (
    <>
      <code class="name">{isItem ? `[${name}]` : name}</code>
      {isItem && itemName(value) && <bdi class="muted">{itemName(value)}</bdi>}
    </>
  );
  // Items of a list share the words of the list.
  const words = hint !== '' && !isItem && <p class="muted small measure">{hint}</p>;
  if (fieldsOf(value) === undefined)
    return (
      <li>
        <div class="member">
          {head}
          <bdi class="value">{valueText(value)}</bdi>
        </div>
        {words}
      </li>
    );
  return (
    <li>
      <details
        open={isOpen.value}
        onToggle={({ currentTarget }) => {
          isOpen.value = currentTarget.open;
        }}
      >
        <summary>{head}</summary>
        {words}
        {isOpen.value && <FieldList {...{ value, docs, schema, opened, path }} level={level + 1} />}
      </details>
    </li>
  );
}
