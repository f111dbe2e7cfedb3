/** Sentences about connections to containers and ports, and about debug containers. */
import type { ComponentChildren } from 'preact';
import { t } from '../../text/text';
import { shellCommand } from '../cluster/kubectl';
import { type Action, type AuditEvent, hadEffect, isShell } from './actions';
import { textWith } from './text-with';

type Parts = {
  who: ComponentChildren;
  what: ComponentChildren;
};

/** Returns undefined for an event whose connection is not known, and for each other event. */
export function connectionSentence(event: AuditEvent, action: Action | undefined, parts: Parts): ComponentChildren {
  const { connection, source, stage } = event;
  // An event of kube-apiserver is about the whole connection.
  if (stage === 'ResponseComplete' && source === 'door') return ended(event, parts);
  if (action === 'exec' && connection?.command) return ranCommand(event, connection.command, parts);
  return action === 'debug' && connection?.container !== undefined ? addedContainer(event, connection, parts) : undefined;
}

/** Longest command in a sentence. The whole one is its title. */
const maxCommandLength = 160;

function Command({ of }: { of: readonly string[] }) {
  const line = shellCommand(of);
  return <code title={line}>{line.length > maxCommandLength ? `${line.slice(0, maxCommandLength)}…` : line}</code>;
}

/** Returns "ran `df -h` in", or "opened a shell in" for the begin of a terminal with nothing but a shell. */
function ranCommand(event: AuditEvent, command: readonly string[], parts: Parts): ComponentChildren {
  if (hadEffect(event) && event.stage !== 'ResponseComplete' && isShell(event)) return textWith('activity.shell', parts);
  return textWith(hadEffect(event) ? 'activity.execOf' : 'activity.tried.execOf', { ...parts, command: <Command of={command} /> });
}

/** Reasons for which the service ends connections. */
const reasons = ['AccessLost', 'CredentialEnded', 'IdleTimeout', 'RecordingNotStored', 'RecordingTooLarge', 'Shutdown'] as const;

function ended(event: AuditEvent, parts: Parts): ComponentChildren {
  const { command = [] } = event.connection ?? {};
  const ending = isShell(event) ? 'shell' : command.length > 0 ? 'exec' : 'connection';
  const end = textWith(`activity.end.${ending}`, { ...parts, command: <Command of={command} /> });
  const reason = reasons.find((one) => one === event.reason);
  return reason === undefined ? end : textWith('activity.endedBy', { ended: end, reason: t(`activity.end.${reason}`) });
}

function addedContainer(event: AuditEvent, { container, image, command = [] }: Connection, parts: Parts): ComponentChildren {
  const done = textWith(hadEffect(event) ? 'activity.debugOf' : 'activity.tried.debugOf', {
    ...parts,
    container: <bdi>{container}</bdi>,
    image: <code>{image}</code>,
  });
  return command.length === 0 ? done : textWith('activity.debugWith', { done, command: <Command of={command} /> });
}

type Connection = NonNullable<AuditEvent['connection']>;
