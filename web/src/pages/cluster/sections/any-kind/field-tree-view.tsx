import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { type Kind, kindId } from '../../../../api/kinds';
import { useLoad } from '../../../../api/load';
import { fetchSchemas } from '../../../../api/openapi';
import { fieldAt, item, type Schemas, type Step } from '../../../../api/schema-fields';
import { t } from '../../../../text/text';
import { CheckField } from '../../../../ui/form';
import { Failure, Skeleton } from '../../../../ui/state';
import { type Field, fieldsOf, itemName, openedPaths, pathOf, valueText } from './field-tree';

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
  const load = useLoad(isExplained.value ? `schema/${kind.version}/${kindId(kind)}` : undefined, async () => ({
    schemas: await fetchSchemas(kind),
  }));
  const { schemas } = (isExplained.value && load.data.value) || {};
  return (
    <>
      <CheckField
        label={t('fields.explain')}
        isChecked={isExplained.value}
        onChange={(isChecked) => {
          isExplained.value = isChecked;
        }}
      />
      {isExplained.value && load.data.value === undefined && <Waiting load={load} />}
      {isExplained.value && load.data.value && schemas === undefined && <p class="muted">{t('fields.noSchema')}</p>}
      <FieldList {...{ value, schemas, opened }} path="" steps={[]} />
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
  schemas: Schemas | undefined;
  opened: ReadonlySet<string>;
  path: string;
  /** The path in the schema. */
  steps: readonly Step[];
}

/** Deeper levels are not indented: a phone has room for these. */
const indentedLevels = 6;

function FieldList({ value, schemas, opened, path, steps }: FieldListProps) {
  const level = steps.length;
  const fields = fieldsOf(value);
  if (fields === undefined) return null;
  return (
    <ul class={level > 0 && level <= indentedLevels ? 'fields indented' : 'fields'}>
      {fields.shown.map((field) => (
        <OneField
          key={field.name}
          {...{ field, schemas, opened }}
          path={pathOf(path, field)}
          steps={[...steps, typeof field.name === 'number' ? item : field.name]}
        />
      ))}
      {fields.hidden > 0 && <li class="muted">{t('fields.hidden', { count: fields.hidden })}</li>}
    </ul>
  );
}

interface OneFieldProps extends Omit<FieldListProps, 'value'> {
  field: Field;
}

function OneField({ field: { name, value }, schemas, opened, path, steps }: OneFieldProps) {
  const isOpen = useSignal(opened.has(path));
  const isItem = typeof name === 'number';
  const hint = (schemas && fieldAt(schemas.root, steps, schemas.resolve)?.description) ?? '';
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
        {isOpen.value && <FieldList {...{ value, schemas, opened, path, steps }} />}
      </details>
    </li>
  );
}
