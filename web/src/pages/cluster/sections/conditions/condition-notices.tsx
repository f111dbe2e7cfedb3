/** Conditions that a reader must see first. */

import type { ClusterObject } from '../../../../api/objects';
import { t } from '../../../../text/text';
import { Ago } from '../../../../ui/age';
import { Notice } from '../../../../ui/state';
import type { Section } from '../section';
import { type ConditionRow, summaryConditions } from './conditions';

/** More are a mistake of the controller, and are left to the table. */
const shownConditions = 20;

const wrongOf = (object: ClusterObject) => summaryConditions(object).filter(({ tone }) => tone !== 'ok');

const Notices = ({ of }: { of: readonly ConditionRow[] }) => (
  <>
    {of.slice(0, shownConditions).map((condition) => (
      <ConditionNotice key={condition.type} of={condition} />
    ))}
  </>
);

const ConditionNotice = ({ of: { type, tone, isUnseen, status, reason, message, since } }: { of: ConditionRow }) => (
  <Notice kind={tone ?? 'info'}>
    <strong>{t(`conditions.${isUnseen ? 'unseen' : status}`, { type })}</strong> {reason} {since && <Ago since={since} />}
    {tone !== 'ok' && message && <p>{message}</p>}
  </Notice>
);

/** Conditions that report a problem. */
export const problems: Section = {
  isShown: (object) => wrongOf(object).length > 0,
  View: ({ object }) => <Notices of={wrongOf(object)} />,
};

/** Problems, or else the condition that sums up the object. */
export const summary: Section = {
  isShown: (object) => summaryConditions(object).length > 0,
  View({ object }) {
    const wrong = wrongOf(object);
    return (
      <Notices
        of={
          wrong.length > 0
            ? wrong
            : summaryConditions(object)
                .filter(({ status }) => status === 'True')
                .slice(0, 1)
        }
      />
    );
  },
};
