import { t } from '../../../text/text';
import { RuleList, type Rules } from '../../../ui/rules';
import { Empty } from '../../../ui/state';
import type { Section, SectionProps } from './sections';

function RoleRules({ object }: SectionProps) {
  const rules = (Array.isArray(object.rules) ? object.rules : []) as Rules;
  return rules.length === 0 ? <Empty text={t('rules.none')} /> : <RuleList rules={rules} />;
}

const rules: readonly Section[] = [{ title: 'rules.title', View: RoleRules }];

export const sections: Readonly<Record<string, readonly Section[]>> = {
  'roles.rbac.authorization.k8s.io': rules,
  'clusterroles.rbac.authorization.k8s.io': rules,
};
