import { useLoad } from '../../api/load';
import { t } from '../../text/text';
import { Field } from '../../ui/form';
import { PlaceChoice, roleSuggestions } from '../../ui/role-choice';
import { changeTypes, deletable, type ChangeFields as Fields, isNamespaced } from './change';
import { SubjectFields } from './subject-fields';

/** Fields of the chosen change. */
export function ChangeFields(fields: Fields) {
  const { type } = fields;
  return (
    <>
      <Field label={t('explorer.change')} name="type" value={type}>
        {changeTypes.map((one) => (
          <option key={one} value={one}>
            {t(`explorer.change.${one}`)}
          </option>
        ))}
      </Field>
      {type.value === 'userBinding' && <UserBindingFields {...fields} />}
      {type.value === 'member' && <MemberFields {...fields} />}
      {type.value === 'rule' && <RuleFields {...fields} />}
      {type.value === 'delete' && <DeletionFields {...fields} />}
    </>
  );
}

function UserBindingFields({ subject, role, place }: Fields) {
  const roles = useLoad('roles/suggested', roleSuggestions);
  return (
    <>
      <SubjectFields {...subject} offered={['user', 'group']} />
      <Field label={t('explorer.role')} name="role" value={role} isRequired suggestions={roles.data.value ?? []} />
      <PlaceChoice place={place} role={role.value} />
    </>
  );
}

const MemberFields = ({ group, action, subject }: Fields) => (
  <>
    <Field label={t('explorer.action')} name="action" value={action}>
      <option value="add">{t('explorer.add')}</option>
      <option value="remove">{t('explorer.remove')}</option>
    </Field>
    <Field label={t('explorer.group')} name="group" value={group} isRequired />
    <Field label={t('access.nameOf.user')} name="user" value={subject.name} isRequired hint={t('explorer.email')} />
  </>
);

function RuleFields({ kind, name, namespace, verb, resource }: Fields) {
  return (
    <>
      <Field label={t('explorer.kindOfRole')} name="kind" value={kind}>
        <option>ClusterRole</option>
        <option>Role</option>
      </Field>
      <Field label={t('access.name')} name="name" value={name} isRequired />
      {isNamespaced(kind.value) && <Field label={t('access.namespace')} name="namespace" value={namespace} isRequired />}
      <Field label={t('explorer.verbs')} name="verbs" value={verb} isRequired hint={t('explorer.verbsHint')} />
      <Field label={t('access.resource')} name="resource" value={resource} isRequired hint={t('access.resourceHint')} />
    </>
  );
}

function DeletionFields({ kind, name, namespace }: Fields) {
  return (
    <>
      <Field label={t('explorer.kindOfObject')} name="kind" value={kind}>
        {deletable.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </Field>
      <Field label={t('access.name')} name="name" value={name} isRequired />
      {isNamespaced(kind.value) && <Field label={t('access.namespace')} name="namespace" value={namespace} isRequired />}
    </>
  );
}
