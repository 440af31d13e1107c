//! The codes of what is refused.

use super::{CodeEntry, entry, finer};

/// `E_`: a reason that the reference has no word for, or a finer one; words in lower case are the
/// reference's.
pub(super) const ERRORS: &[CodeEntry] = &[
    finer(
        "xml_syntax",
        "E_XML_SYNTAX",
        "The file is not well-formed XML, or is no XML at all (gzip, JSON). Nothing of it is \
         used. The declaration `<?xml …?>`, if any, must be the very first thing: not even a \
         blank line may stand before it.",
    ),
    finer(
        "xml_syntax",
        "E_XML_NO_ROOT",
        "The file has no element: it is empty, or holds only comments or text. An empty \
         configuration is `<configuration/>`.",
    ),
    finer(
        "xml_syntax",
        "E_XML_UNCLOSED",
        "An element is not closed before the end of the file; usually the file was cut off \
         while it was written or copied.",
    ),
    finer(
        "xml_syntax",
        "E_XML_MISMATCH",
        "An end tag does not fit the element that is open. Look for a missing `/` in an \
         earlier tag.",
    ),
    finer(
        "xml_syntax",
        "E_XML_TRAILING",
        "After the root element only white space, comments and processing instructions may \
         follow. A second root element is never read, so what it says would be lost silently.",
    ),
    finer(
        "xml_syntax",
        "E_XML_ATTR",
        "An attribute is broken, stands twice, or holds `<`.",
    ),
    finer(
        "xml_syntax",
        "E_XML_ENTITY",
        "Only the entities amp, lt, gt, quot and apos exist. Write `&amp;` for a plain `&`.",
    ),
    finer(
        "xml_syntax",
        "E_XML_CHARREF",
        "A numeric reference such as `&#0;` stands for no character that XML allows.",
    ),
    finer(
        "xml_syntax",
        "E_XML_CHAR",
        "A control character stands in the file. XML allows only tab, line feed and carriage \
         return.",
    ),
    finer(
        "xml_syntax",
        "E_XML_UTF8",
        "The file is not UTF-8. Convert it, or look for a damaged byte at the given place.",
    ),
    finer(
        "xml_include",
        "E_XML_INCLUDE",
        "The file includes another one (XInclude). Included files are never read; put their \
         properties into the file itself.",
    ),
    entry(
        "E_XML_ENCODING",
        "Only UTF-8 is read (and other encodings as long as every byte is ASCII). Hadoop also \
         reads UTF-16 and Latin-1. Convert the file with `iconv -t UTF-8`.",
    ),
    entry(
        "E_XML_DOCTYPE",
        "A document type can declare entities, which can grow without bound or name other \
         files. It is refused as a whole, so that nothing of the kind is ever expanded or \
         opened. Hadoop expands internal entities and reads external ones as empty text.",
    ),
    entry("E_XML_LIMIT", "A tag has more than 32 attributes."),
    entry(
        "E_XML_DEPTH",
        "Elements are nested deeper than 32 levels. Hadoop has no such limit; a configuration \
         needs three.",
    ),
    entry(
        "E_LIMIT",
        "A bound on the size of the input was exceeded. A file has at most 64 MiB and \
         5,000,000 properties, a tag at most 32 attributes. There are at most 1,000,000 \
         queues, 100,000 children of a queue and 8 resource types. A name has at most 256 \
         bytes, a path 4096.",
    ),
    entry(
        "E_IO",
        "The file is missing, unreadable, larger than the limit, or no regular file.",
    ),
    entry(
        "E_NAN",
        "`NaN` passes every range test of the reference, because all comparisons with it \
         are false. It then makes the shares of the queue and its siblings meaningless. It \
         is refused in capacities, maximum capacities, weights and user weights.",
    ),
    entry(
        "E_RANGE",
        "An amount is negative or above 2^53 - 1. The reference accepts both and computes \
         with overflowing sums.",
    ),
    entry(
        "E_QUEUE_DUP",
        "A queue is named twice in the list of its parent. The reference refuses that only \
         when percentages then sum to more than 100; otherwise it keeps the queue in its tree \
         twice.",
    ),
    entry(
        "E_QUEUE_NAME",
        "A queue's name holds a `.`, which separates the names of a path; the queue would \
         have the path of a child of another one. The reference accepts it.",
    ),
    finer(
        "not_a_number",
        "E_MAX_QUEUES",
        "The largest number of queues that a parent creates is no whole number. Hadoop reads it \
         at a creation only, where another text ends the thread that handles events.",
    ),
    finer(
        "not_a_number",
        "E_DIGITS",
        "A whole number has digits of another script than ASCII's. Hadoop reads them. Here they \
         are refused: digits that look alike differ in value.",
    ),
    entry("E_QUEUE_DEPTH", "Queues are nested deeper than 32 levels."),
    finer(
        "other",
        "E_RESOURCE_TYPE",
        "A resource type is declared wrongly. Its name starts with a letter and stands once \
         in `yarn.resource-types`; `memory`, `memory-mb` and `vcores` exist anyway. Its \
         kind is `COUNTABLE`. Its unit is none or one of p, n, u, m, k, M, G, T, P, Ki, Mi, \
         Gi, Ti and Pi. `yarn.io/gpu` and `yarn.io/fpga` have none. Types stand in \
         yarn-site.xml or resource-types.xml: the scheduler's own file cannot add one.",
    ),
    entry(
        "E_RESOURCE_TAG",
        "A resource type has the tag `system:csi-volume`. Hadoop leaves such types out of all \
         comparisons; here they are not supported.",
    ),
    entry(
        "xml_syntax",
        "The file is not well-formed XML. The finer codes E_XML_… say how.",
    ),
    entry(
        "xml_include",
        "The file includes another one (XInclude). Included files are never read; put their \
         properties into the file itself.",
    ),
    entry(
        "substitution_cycle",
        "After 20 replacements of `${name}` the value still has variables; most likely they \
         refer to each other.",
    ),
    entry(
        "not_a_number",
        "The value is not a number as Java reads it. `50`, `50.0`, `.5`, `5e1`, `50f` and \
         `0x1.9p5` are; `50%`, `50,0`, `5_0`, `inf` and white space alone are not. Whole \
         numbers may be hexadecimal (`0x10`); per-queue `max-parallel-apps` must be plain \
         digits.",
    ),
    entry(
        "root_without_children",
        "`root` must be a parent: `yarn.scheduler.capacity.root.queues` is missing or empty.",
    ),
    entry(
        "capacity_sum",
        "The percentages of siblings must sum to 100 on every label of their parent, or all \
         be 0. The sum of 32-bit fractions may be off by 0.0005. A sum of 0 needs a parent \
         without a capacity on the label or in weight mode, or `allow-zero-capacity-sum`. A \
         sum of 100 needs a parent with a capacity there. On `root` every label that any \
         queue names has 100 %.",
    ),
    entry(
        "mixed_capacity_modes",
        "In legacy mode the children of one queue use percentages, weights (`3w`) or absolute \
         values (`[memory=…,vcores=…]`), but not two of them, on any label. Absolute values \
         with an unknown unit or white space around the brackets count as unset. Set \
         `yarn.scheduler.capacity.legacy-queue-mode.enabled` to false to mix.",
    ),
    entry(
        "absolute_below_relative_parent",
        "Below a queue with an absolute capacity all capacities are absolute, and absolute \
         ones need such a parent; only `root` is exempt.",
    ),
    finer(
        "other",
        "absolute_template",
        "The `leaf-queue-template` of a queue has an absolute capacity, the queue itself has none.",
    ),
    finer(
        "other",
        "template_label",
        "The `leaf-queue-template` of a queue names a label that the queue does not have.",
    ),
    entry(
        "children_exceed_parent",
        "The absolute capacities of the children sum to more than that of their parent.",
    ),
    entry(
        "capacity_out_of_range",
        "A capacity lies within 0 and 100, a weight within 0 and 10000 (-1 counts as none). \
         On a label the same holds for the maximum capacity.",
    ),
    entry(
        "capacity_of_root",
        "The capacity of `root` is 100 and cannot be changed.",
    ),
    entry(
        "maximum_capacity_out_of_range",
        "A maximum capacity lies within 0 and 100.",
    ),
    entry(
        "maximum_above_parent",
        "The absolute maximum capacity of a queue is above that of its parent.",
    ),
    entry(
        "minimum_above_maximum",
        "The absolute capacity of a queue is above its own absolute maximum, or the one it \
         inherits.",
    ),
    entry(
        "reservable_parent",
        "Only a queue without children can be reservable.",
    ),
    entry(
        "state_unknown",
        "A state is RUNNING or STOPPED, in any case but without white space. DRAINING is \
         never configured.",
    ),
    entry(
        "state_of_parent",
        "A queue cannot run below a stopped one. Leave its state unset to follow the parent.",
    ),
    entry(
        "user_weight",
        "A user's weight lies within 0 and 100 divided by minimum-user-limit-percent: the \
         number of users that can be active at once.",
    ),
    entry(
        "lifetime",
        "The default lifetime of applications is above the maximum lifetime.",
    ),
    entry(
        "label_not_in_parent",
        "A queue may use a label that its parent may not use. Queues directly below `root` \
         may use every label.",
    ),
    entry(
        "default_label",
        "The default label of a leaf is not among the labels that it may use.",
    ),
    entry(
        "maximum_allocation",
        "The maximum allocation of a queue is above that of the cluster \
         (yarn.scheduler.maximum-allocation-mb and -vcores, \
         yarn.resource-types.<type>.maximum-allocation).",
    ),
    entry(
        "maximum_allocation_syntax",
        "A maximum allocation is a comma list of type=amount, such as \
         `memory-mb=8192,vcores=4`; amounts may have the unit M or G.",
    ),
    entry(
        "scheduler_allocation_limits",
        "The minimum allocation is above 0 and not above the maximum, for memory and vcores.",
    ),
    entry(
        "calculator_class",
        "The resource calculator is unknown; there are DefaultResourceCalculator and \
         DominantResourceCalculator, with their package.",
    ),
    entry(
        "calculator_for_types",
        "The default resource calculator knows only memory; further resource types need \
         DominantResourceCalculator.",
    ),
    entry(
        "ordering_policy",
        "A parent has the order `utilization` or `priority-utilization`; a leaf `fifo`, \
         `fair`, `fifo-with-partitions` or `fifo-for-pending-apps`. Both use the same key, so \
         a leaf that gets children must lose its own.",
    ),
    entry(
        "multi_node_policy",
        "A node lookup policy that is named has no class, an unknown class, or a negative \
         sorting interval.",
    ),
    entry(
        "priority_acl",
        "A priority list consists of brackets such as `[user=ann group=dev max_priority=7 \
         default_priority=4]`.",
    ),
    entry(
        "management_policy",
        "The management policy of automatically created queues is unknown.",
    ),
    entry(
        "mapping_format",
        "`mapping-rule-format` is `legacy` or `json`, written exactly so.",
    ),
    finer(
        "other",
        "E_VECTOR_TYPE",
        "Outside legacy mode the capacity of a queue with children names a resource type that the \
         cluster does not have. For queues without children such types have no effect.",
    ),
    finer(
        "other",
        "E_PLACEMENT_RULES",
        "`yarn.scheduler.queue-placement-rules` names something twice, or something else than \
         `user-group` and `app-name`. Names are separated by commas alone, without spaces.",
    ),
    entry(
        "mapping_syntax",
        "A queue mapping is not of the form `u:user:queue`, `g:group:queue` or, for \
         applications, `name:queue`.",
    ),
    entry(
        "mapping_json",
        "The JSON of the placement rules is broken or misses a field.",
    ),
    finer(
        "mapping_json",
        "E_MAPPING_CREATE",
        "The `create` of a JSON placement rule is a number of more than 64 bits, or `-0`. Hadoop takes \
         the first for true and the second for false. Write `true` or `false`.",
    ),
    entry(
        "mapping_file",
        "The file of the placement rules cannot be read.",
    ),
    entry(
        "mapping_target",
        "A placement rule names a queue that neither exists nor can be created.",
    ),
    entry(
        "workflow_mapping",
        "A workflow priority mapping is not of the form `workflow:queue:priority`.",
    ),
    entry(
        "queue_not_stopped",
        "A queue that is missing from the new configuration must be stopped first.",
    ),
    entry(
        "queue_kind_change",
        "A refresh turns a running leaf into a parent, or changes how a parent creates \
         queues.",
    ),
    finer(
        "other",
        "guarantees_above_parent",
        "With `fail-on-exceeding-parent-capacity` the created leaves together are guaranteed \
         a greater part of their parent than that is of its own.",
    ),
    finer(
        "other",
        "managed_parent_with_children",
        "A managed parent whose children were not all created by submissions cannot be \
         refreshed.",
    ),
    entry(
        "maximum_allocation_decreased",
        "A refresh may not lower the maximum allocation of a leaf.",
    ),
    entry(
        "E_PREEMPTION",
        "A key of preemption has a value that the policy cannot work with. That is a time \
         or a share below 0, a share that is no number, an interval of 0, or an unknown \
         order. An unknown monitor policy of the reference's packages is refused as well. \
         It is refused only while the monitor is on; otherwise nothing reads it. \
         `capsched.reservation-timeout-ms`, a key of our own, is always read.",
    ),
    finer(
        "other",
        "E_STORE",
        "`yarn.scheduler.configuration.store.class` is one of `file`, `memory`, `leveldb`, `zk` and \
         `fs`, in lower case and without white space.",
    ),
];
