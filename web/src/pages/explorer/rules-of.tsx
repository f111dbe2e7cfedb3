import { folded, wantedText } from '@atrium/objects/folded.ts';
import { type Signal, useSignal } from '@preact/signals';
import { Check } from 'lucide';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useAsked } from '../../app/asked';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { Dialog, LastLine } from '../../ui/dialog';
import { Field } from '../../ui/form';
import { PlainTable } from '../../ui/plain-table';
import { Empty, Notice } from '../../ui/state';
import { type AccessRule, BindingLink, inNamespace, Notes, RoleLink } from './grants';
import { commonVerbs, grantsOf, type MatrixRow, matrixOf, otherVerbs } from './matrix';
import { listBindings, PermittedForm } from './permitted-form';
import { SubjectFields, subjectQuery } from './subject-fields';

/** Pages of rules that are read. A subject with more has rules of machines. */
const maxPages = 20;
/** Rows that are shown at once. */
const maxRows = 100;

type Rules = Schemas['AccessRuleList'] & { isCut: boolean };

async function allRules(query: ReturnType<typeof subjectQuery>, signal: AbortSignal): Promise<Rules> {
  const items: AccessRule[] = [];
  let next = '';
  for (let page = 1; ; page += 1) {
    const asked = { ...query, ...(next && { continue: next }) };
    const answer = await bodyOf(api.GET('/auth/v1/accessrules', { params: { query: asked }, signal }));
    items.push(...answer.items);
    next = answer.metadata.continue ?? '';
    if (next === '' || page === maxPages) return { ...answer, items, isCut: next !== '' };
  }
}

/** Rights of a subject: resource, namespace and verb, with the bindings of each. */
export function RulesOf() {
  const { fields: subject, isAsked, keep } = useAsked({ kind: 'user', name: '' });
  const answer = useSignal<Rules | undefined>(undefined);
  async function show(signal: AbortSignal): Promise<void> {
    keep();
    answer.value = undefined;
    answer.value = await allRules(subjectQuery(subject), signal);
  }
  return (
    <>
      <section class="card measure" aria-label={t('explorer.tab.rights')}>
        <PermittedForm action={t('explorer.show')} right={listBindings('rolebindings')} onSubmit={show} isSubmittedAtOnce={isAsked}>
          <SubjectFields {...subject} />
        </PermittedForm>
      </section>
      {answer.value && <Rights of={answer.value} />}
    </>
  );
}

function Rights({ of: { subject, groups, notes, items, isCut } }: { of: Rules }) {
  const hidden = new Set(items.flatMap(({ hidden: isHidden, role }) => (isHidden ? [role.name] : [])));
  return (
    <section aria-label={t('explorer.rightsOf', { name: subject.name })}>
      <h2>{t('explorer.rightsOf', { name: subject.name })}</h2>
      {groups.length > 0 && <p class="muted">{t('access.groups', { groups: groups.join(', ') })}</p>}
      <Notes notes={notes} />
      {hidden.size > 0 && <Notice kind="warn">{t('explorer.hiddenRoles', { roles: [...hidden].join(', ') })}</Notice>}
      {isCut && <Notice kind="warn">{t('explorer.cut')}</Notice>}
      <Matrix rows={matrixOf(items)} />
    </section>
  );
}

function Matrix({ rows }: { rows: readonly MatrixRow[] }) {
  const [words, namespace, cell] = [useSignal(''), useSignal('*'), useSignal<Cell | undefined>(undefined)];
  const shown = rows.filter(
    (row) => folded(row.what).includes(wantedText(words.value)) && (namespace.value === '*' || row.namespace === namespace.value),
  );
  const namespaces = [...new Set(rows.map((row) => row.namespace))].sort();
  if (rows.length === 0) return <Empty text={t('explorer.noRights')} />;
  return (
    <>
      <div class="row">
        <Field label={t('explorer.find')} name="find" type="search" value={words} />
        <Field label={t('access.namespace')} name="namespace" value={namespace}>
          <option value="*">{t('explorer.all')}</option>
          {namespaces.map((name) => (
            <option key={name} value={name}>
              {inNamespace(name)}
            </option>
          ))}
        </Field>
      </div>
      <MatrixTable rows={shown.slice(0, maxRows)} cell={cell} />
      {shown.length > maxRows && <p class="muted">{t('explorer.more', { count: shown.length - maxRows })}</p>}
      {cell.value && <Grants {...cell.value} onClose={() => (cell.value = undefined)} />}
    </>
  );
}

interface Cell {
  row: MatrixRow;
  verb: string;
}

function MatrixTable({ rows, cell }: { rows: readonly MatrixRow[]; cell: Signal<Cell | undefined> }) {
  const button = (row: MatrixRow, verb: string) => ({
    kind: 'quiet' as const,
    onClick: () => {
      cell.value = { row, verb };
    },
  });
  return (
    <PlainTable
      label={t('explorer.matrix')}
      idOf={({ what, namespace }) => `${what} ${namespace}`}
      rows={rows}
      columns={[
        { title: t('access.resource'), cell: ({ what }) => <code>{what}</code> },
        { title: t('access.namespace'), cell: ({ namespace }) => inNamespace(namespace) },
        ...commonVerbs.map((verb) => ({
          title: verb,
          cell: (row: MatrixRow) =>
            grantsOf(row, verb).length > 0 && (
              <Button
                icon={Check}
                label={t('explorer.cell', { verb, what: row.what, where: inNamespace(row.namespace) })}
                {...button(row, verb)}
              />
            ),
        })),
        {
          title: t('explorer.otherVerbs'),
          cell: (row) =>
            otherVerbs(row).map((verb) => (
              <Button key={verb} {...button(row, verb)}>
                {verb}
              </Button>
            )),
        },
      ]}
    />
  );
}

function Grants({ row, verb, onClose }: Cell & { onClose: () => void }) {
  return (
    <Dialog title={t('explorer.cell', { verb, what: row.what, where: inNamespace(row.namespace) })} onClose={onClose}>
      <PlainTable
        label={t('explorer.bindings')}
        idOf={({ binding, subject, rule }) => `${binding.namespace} ${binding.name} ${subject.name} ${JSON.stringify(rule)}`}
        rows={grantsOf(row, verb)}
        columns={[
          { title: t('explorer.binding'), cell: ({ binding }) => <BindingLink of={binding} /> },
          { title: t('explorer.role'), cell: ({ role }) => <RoleLink of={role} /> },
          { title: t('explorer.through'), cell: ({ subject }) => subject.name },
        ]}
      />
      <LastLine onClose={onClose} />
    </Dialog>
  );
}
