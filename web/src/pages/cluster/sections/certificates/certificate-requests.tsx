import type { ClusterObject } from '../../../../api/objects';
import { href } from '../../../../app/router';
import { t } from '../../../../text/text';
import { Facts } from '../../../../ui/facts';
import { Notice } from '../../../../ui/state';
import { TextLines } from '../data/text-lines';
import type { Section, SectionProps } from '../section';
import { requestedCertificate } from './signing-request';

interface RequestSpec {
  request?: string;
  signerName?: string;
  usages?: readonly string[];
  username?: string;
  groups?: readonly string[];
  expirationSeconds?: number;
}

interface Condition {
  type: string;
  status?: string;
  message?: string;
}

type State = 'issued' | 'denied' | 'failed' | 'approved' | 'pending';

const tones = { issued: 'ok', denied: 'bad', failed: 'bad', approved: 'info', pending: 'warn' } as const;

function stateOf({ status }: ClusterObject): { state: State; message: string } {
  const conditions = (Array.isArray(status?.conditions) ? status.conditions : []) as readonly Condition[];
  const held = (type: string) => conditions.find((condition) => condition.type === type && (condition.status ?? 'True') === 'True');
  const [denied, failed] = [held('Denied'), held('Failed')];
  if (denied) return { state: 'denied', message: denied.message ?? '' };
  if (failed) return { state: 'failed', message: failed.message ?? '' };
  if (status?.certificate) return { state: 'issued', message: '' };
  return { state: held('Approved') ? 'approved' : 'pending', message: '' };
}

function Requester({ username }: { username: string }) {
  // Accounts of the control plane are none of Atrium.
  if (username.startsWith('system:')) return <code>{username}</code>;
  return <a href={href(`/users?${new URLSearchParams({ q: username })}`)}>{username}</a>;
}

function Request({ object }: SectionProps) {
  const { request, signerName, usages = [], username, groups = [], expirationSeconds } = (object.spec ?? {}) as RequestSpec;
  const { state, message } = stateOf(object);
  const wanted = requestedCertificate(request);
  return (
    <>
      <Notice kind={tones[state]}>
        {t(`signing.${state}`)} {message}
      </Notice>
      <Facts
        of={[
          [t('signing.subject'), wanted ? <TextLines key="subject" texts={wanted.subject} /> : t('signing.unreadable')],
          [
            t('signing.names'),
            wanted !== undefined && wanted.alternativeNames.length > 0 && <TextLines key="names" texts={wanted.alternativeNames} />,
          ],
          [t('signing.signer'), signerName],
          [t('signing.usages'), usages.join(', ')],
          [t('signing.requester'), username && <Requester key="requester" username={username} />],
          [t('signing.groups'), groups.join(', ')],
          [t('signing.duration'), expirationSeconds !== undefined && `${expirationSeconds} s`],
        ]}
      />
    </>
  );
}

export const sections: Readonly<Record<string, readonly Section[]>> = {
  'certificatesigningrequests.certificates.k8s.io': [{ View: Request }],
};
