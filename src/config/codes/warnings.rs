//! The codes of what is accepted and odd.

use super::{CodeEntry, entry};

/// `W_`: warning; `H_`: hint.
pub(super) const WARNINGS: &[CodeEntry] = &[
    entry(
        "W_MODE_AT_REFRESH",
        "A refresh leaves legacy mode. Here it takes effect as a whole. Hadoop divides resources \
         by the mode of its start until it starts again: queues with weights then have shares of \
         0 and admit no application. Restart the resource manager after the change.",
    ),
    entry(
        "W_XML_ROOT",
        "The root element is not called `configuration`. Hadoop does not mind, other tools \
         may.",
    ),
    entry(
        "W_XML_ELEMENT",
        "An element has no meaning in a Hadoop configuration; names are case-sensitive \
         (`PROPERTY` is unknown).",
    ),
    entry("W_XML_INSTRUCTION", "A processing instruction is ignored."),
    entry("W_XML_NAMELESS", "A property without a name is ignored."),
    entry(
        "W_XML_TWICE",
        "A property has two names or values; the last one counts.",
    ),
    entry(
        "W_FINAL",
        "An earlier property of the same name is final, so this one is ignored.",
    ),
    entry(
        "W_KEY_TWICE",
        "A property stands twice in one file; the last one counts.",
    ),
    entry(
        "W_KEY_UNKNOWN",
        "The scheduler does not know the key. It is ignored.",
    ),
    entry(
        "W_KEY_SPACE",
        "The name of a property holds a character that is no part of any key, such as a \
         no-break space; it is ignored.",
    ),
    entry(
        "W_KEY_NO_EFFECT",
        "The key has no effect on a queue of this kind.",
    ),
    entry(
        "W_QUEUE_UNLISTED",
        "The key belongs to a queue that no `queues` list names. A queue exists only when its \
         parent lists it.",
    ),
    entry(
        "W_QUEUE_NAME",
        "The name of a queue is empty, differs from a sibling's only in case, or holds \
         characters that are hard to see. Or the list of queues is a part of a template, such as \
         `{{ queues }}`: render the template first.",
    ),
    entry("W_VALUE_IGNORED", "The value is unreadable and ignored."),
    entry("W_VALUE_EMPTY", "An empty value counts as unset."),
    entry(
        "W_CAPACITY_UNSET",
        "The value looks like an absolute capacity or a vector, but counts as unset. It has \
         no memory, an unknown unit, or a form that this queue mode does not read.",
    ),
    entry(
        "W_CAPACITY_ZERO",
        "The queue can never run anything: its maximum capacity is 0.",
    ),
    entry(
        "W_MAXIMUM_BELOW",
        "The maximum capacity is below the capacity; the maximum binds, so the guarantee \
         cannot be used.",
    ),
    entry(
        "W_MAXIMUM_RANGE",
        "A maximum capacity outside 0 to 100 is accepted, but means nothing sensible. Only -1 \
         stands for 100.",
    ),
    entry(
        "W_MASTER_SHARE",
        "The share for application masters is outside 0 to 1, or so small that no \
         application can become active. At most the one that is always admitted can.",
    ),
    entry(
        "W_USER_LIMIT",
        "The user limit is outside 1 to 100, or the factor is 0 or negative other than -1.",
    ),
    entry("W_MAX_APPS", "No application will be admitted."),
    entry(
        "W_LABEL_UNUSED",
        "A label has capacities in this queue, but the queue may not use it.",
    ),
    entry(
        "W_LABEL_DISABLED",
        "Labels are configured while `yarn.node-labels.enabled` is not true.",
    ),
    entry(
        "W_RESERVED_NODES",
        "Multi-node placement is on and \
         `yarn.scheduler.capacity.skip-allocate-on-nodes-with-reserved-containers` is not true. \
         A node that another application reserved is then proposed again and again and refused \
         each time. Whatever stands behind that proposal waits, idle nodes or not (YARN-11573). \
         Set the property to true. The last node of an order is proposed even then. \
         `capsched.mend.reserved-last-node` ends that; YARN does not know it.",
    ),
    entry(
        "W_NO_CONTINUE_LOOKING",
        "`yarn.scheduler.capacity.reservations-continue-look-all-nodes` is false. What an \
         application reserved counts against the limits of its queues then. No reservation is given \
         up for a node that is free. An application whose reservations fill its limits waits for \
         the nodes that it reserved, idle nodes or not. Set the property to true, as by default.",
    ),
    entry(
        "H_UPGRADE",
        "The files mean something else to this release of Hadoop than to the one before. It is a \
         default that is not set here, a value that is read otherwise, or a verdict. Set the value \
         to keep what there was.",
    ),
    entry(
        "H_KEY_TWICE",
        "A property stands twice in one file, with one value. One of the two can go.",
    ),
    entry(
        "H_QUEUE_NAMESAKE",
        "Several leaves have the same name below different parents. All of them work, but an \
         application that names its queue without the path is refused, since the name alone could \
         mean any of them.",
    ),
    entry(
        "H_LONE_USER",
        "One user alone may use `user-limit-factor` times the guarantee of a leaf, 1 by default. The \
         rest of the maximum capacity is open to further users only: an idle cluster stays idle while \
         that user waits. Raise the factor where one user may fill the queue, or set -1 for no such \
         bound.",
    ),
    entry(
        "H_NO_PREEMPTION",
        "Queues may grow above their guarantees, and the site leaves the monitor of preemption off. A \
         queue whose guarantee is in use by others gets it back only as their containers end, which \
         takes days below long-running services. Set \
         `yarn.resourcemanager.scheduler.monitor.enable` to true in yarn-site.xml.",
    ),
    entry(
        "H_SCALED_DOWN",
        "With `--cluster`: the amounts that the children of a queue are guaranteed exceed what the \
         queue has of this cluster. Each is scaled down by one factor, as after the loss of nodes. \
         Lower the amounts, or use percentages or weights.",
    ),
    entry(
        "H_NOTHING_FITS",
        "With `--cluster`: the queue may use less than the smallest container, so nothing ever runs \
         in it. Its submissions wait without an error. Raise its maximum, or stop the queue.",
    ),
    entry(
        "H_ONE_MASTER",
        "With `--cluster`: the limit for application masters holds one master of the smallest size. \
         Applications of the queue run one after another, however much is free. Raise \
         `maximum-am-resource-percent` or the guarantee of the queue.",
    ),
    entry(
        "H_LABEL_WITHOUT_NODES",
        "With `--cluster`: a queue has a capacity on a node label that no node of the cluster has. \
         Asks for the label wait until a node with it registers.",
    ),
    entry(
        "H_LABEL_WITHOUT_QUEUES",
        "With `--cluster`: nodes have a label on which no leaf may use anything. They stay idle, \
         unless the label is not exclusive. Give a queue the label in `accessible-node-labels` and a \
         capacity on it.",
    ),
    entry(
        "W_PREEMPTION",
        "A key of preemption has no effect, or another key takes its effect. The monitor is \
         off, no queue serves by priority, or nothing may be asked back. Or a share is \
         above 1, a policy does not run here, or the wait outlives the request. What would \
         be refused while the monitor is on is warned of while it is off.",
    ),
    entry(
        "W_MAXIMUM_KIND",
        "In legacy mode a queue reads its maximum in the kind of its capacity: a percentage beside a \
         percentage or a weight, amounts beside amounts. Any other maximum is ignored, and the queue \
         may use the whole cluster (YARN-10169). Write both in one kind.",
    ),
    entry(
        "W_CREATION_NEVER",
        "The queue is to create queues and never can. In legacy mode the children that it lists need \
         weights (`1w`), and they count towards `max-queues`. `maximum-queue-depth` is at least 1. The \
         template is accepted, goes by the kind of the listed children (weights, in legacy mode), leaves \
         the queue running, and leaves it a share. A queue has one way of creation, `auto-create-child-queue` or `auto-queue-creation-v2`. A \
         submission to a queue that would be created is refused as one to an unknown queue \
         (YARN-11982).",
    ),
    entry(
        "W_PRIORITY_UNUSED",
        "The priority of a queue counts only where its parent has the ordering policy \
         `priority-utilization`. The default, `utilization`, does not look at it.",
    ),
    entry(
        "W_ORDER_OPTION",
        "An option below `ordering-policy.` belongs to another order of applications than that of \
         the queue. `fair.enable-size-based-weight` counts for `fair`, and \
         `exclusive-enforced-partitions` for `fifo-with-partitions`. The default is `fifo`. A parent has \
         no order of applications.",
    ),
    entry(
        "W_ACL_GROUP",
        "An access list is `users groups`: two lists separated by the first space, each with commas \
         and no space. `alice, bob` is the user alice and the group bob. Write `alice,bob`. A `*` among \
         other names, or names joined by `;`, are names that nobody has.",
    ),
    entry(
        "W_ACL_OPEN",
        "Whoever has a permission on a queue has it below, too, and whoever administers a queue may \
         submit to it. `root` grants both to everybody unless its lists say otherwise, so that lists \
         below it shut nobody out. Set the lists of `root` to one space for nobody.",
    ),
    entry(
        "W_ACL_OFF",
        "Access lists are read only when `yarn.acl.enable` is true in yarn-site.xml. Its default is \
         false: everybody may submit everywhere, with any priority.",
    ),
    entry(
        "W_OTHER_SCHEDULER",
        "`yarn.resourcemanager.scheduler.class` of the site names another scheduler, which has files \
         of its own. The default is the Capacity Scheduler.",
    ),
    entry(
        "W_OTHER_STORE",
        "`yarn.scheduler.configuration.store.class` of the site names a store. The file fills an \
         empty store once; after that the store is read, and changes come by REST or `yarn \
         schedulerconf`. With `file` a refresh reads the file.",
    ),
];
