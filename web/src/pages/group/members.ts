interface Group {
  metadata: { generation?: number | undefined };
  spec: { refConnector?: unknown; users?: readonly { name: string }[] | undefined };
  status?: { members?: readonly Member[] | undefined; observedGeneration?: number | undefined } | undefined;
}

export interface Member {
  name: string;
  /** '' without a User record, and beyond the first 500 members. */
  email: string;
}

/** Returns the members. The spec has their names at once; the controller adds their e-mail addresses to the status. */
export const membersOf = ({ spec, status }: Group): readonly Member[] =>
  spec.refConnector
    ? (status?.members ?? [])
    : (spec.users ?? []).map(({ name }) => ({ name, email: status?.members?.find((member) => member.name === name)?.email ?? '' }));

/** Reports whether the controller will still add e-mail addresses. */
export const awaitsEmails = (group: Group): boolean =>
  group.status?.observedGeneration !== group.metadata.generation && membersOf(group).some(({ email }) => email === '');
