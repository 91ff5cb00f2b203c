"""Words that close a clause: what tells a text without its last full stop from one that breaks off."""

from typing import Final

import numpy as np

# The 300 pairs of ideographs that most often stand before a full stop, a semicolon or the end of a line, among those that do
# so at least 8 times in 100 (others: 2), in 8 million ideographs of court texts, statutes, exams and answers of both scripts.
_WORDS: Final = (
    "一份 一年 一日 一條 一致 七條 万元 三人 三條 上诉 不同 不足 业务 个月 为准 举报 么办 义务 之一 之二 之罪 九條 书证 事件 "
    "事務 事宜 事实 事由 事項 事项 二份 二條 二级 五條 亦同 什么 住所 佐证 体系 作用 作者 依据 便利 保密 信息 修正 候审 偿还 "
    "偿金 備查 八條 公告 公布 公诉 六條 关系 养费 内容 决定 分割 分析 分配 刑罚 判决 判处 判断 利息 利益 制定 制度 办法 办理 "
    "功能 动的 十條 千元 协议 原则 原則 发展 受伤 受理 可证 同意 后果 品罪 員會 問題 四條 培训 处分 处理 处罚 备案 奖励 守所 "
    "定之 实施 审批 害罪 察院 審查 工作 工资 帮助 废止 建议 异议 归案 归还 影响 待遇 律师 徒刑 微伤 总则 情况 情形 惩处 意旨 "
    "意見 意见 成分 成的 成立 手续 打伤 执照 执行 批准 承担 抓获 投案 投诉 报告 报酬 拘役 拘留 指导 挥霍 损失 措施 援助 支持 "
    "收入 改正 政策 效力 数额 文件 方式 方案 方法 施的 施行 无效 无罪 日期 日止 有效 服务 期限 未果 未还 本案 机制 权利 权益 "
    "材料 条件 条例 条款 查获 标准 标志 核定 检查 標準 款项 此限 死亡 水平 決定 没收 治疗 法的 活动 為之 為限 照片 物品 理之 "
    "生效 用之 用途 登记 监督 相同 确定 确认 离婚 秘密 秩序 程序 税款 笔录 答辩 管辖 範圍 纠纷 约金 终结 经理 结婚 结果 给付 "
    "缓刑 缴纳 罚款 罚金 罰金 義務 考核 职权 职责 職等 能力 自首 處分 處理 處罰 行为 行之 行动 补偿 补贴 要件 要求 規定 规定 "
    "规范 解决 計算 設備 警告 變更 计划 计算 认可 认定 认罪 记录 设施 证书 证件 证实 证据 证言 评估 诉讼 说明 请求 调整 调查 "
    "调解 谅解 責任 費用 資料 负担 财产 责任 质证 费用 资料 资格 赔偿 起算 轻伤 辦理 辩解 过错 返还 还款 追偿 通过 逮捕 違憲 "
    "配合 采信 采纳 问题 附则 陈述 限制 除外 预算 风险 駁回 骨折"
)
# What ends a list of references, or an amount.
_LAST: Final = "條条款項项號号元"

CLOSING: Final = np.array([[ord(word[0]), ord(word[1])] for word in _WORDS.split()], np.uint32)
LAST: Final = np.array([ord(character) for character in _LAST], np.uint32)
